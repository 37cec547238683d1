// 25 demo calls in parallel, a cell each.

import { callDemo, counted } from "./bucket.js";
import { byId, make, onClick, verdict } from "./dom.js";
import { calls, explain, isRefusal } from "./words.js";

const size = 25;
const signs = { admitted: "✓", refused: "×", failed: "!" };

export function start() {
  const cells = Array.from({ length: size }, () => make("li", {}, make("span", { className: "hidden" }, "not sent")));
  byId("cells").replaceChildren(...cells);
  onClick(byId("burst"), () => burst(cells));
}

async function burst(cells) {
  const counts = { admitted: 0, refused: 0, failed: 0 };
  const reasons = new Map(); // of what failed otherwise
  const show = () => Object.entries(counts).forEach(([kind, n]) => (byId("burst-" + kind).textContent = n));
  show();
  byId("burst-outcome").replaceChildren();
  for (const cell of cells) fill(cell, "waiting", "", "waiting");
  let cap;
  await Promise.all(
    cells.map(async (cell) => {
      const answer = await callDemo();
      const kind = answer.status === 200 && counted(answer) ? "admitted" : isRefusal(answer) ? "refused" : "failed";
      counts[kind]++;
      if (counted(answer)) cap = answer.json.cap;
      if (kind === "failed" || (kind === "refused" && !counted(answer))) {
        const { title, text } = explain(answer);
        reasons.set(title, text);
      }
      fill(cell, kind, signs[kind], kind === "admitted" ? `admitted as call ${answer.json.count}` : kind);
      show();
    }),
  );
  byId("burst-outcome").replaceChildren(...outcome(counts, cap), ...[...reasons].map(([title, text]) => verdict("bad", title, text)));
}

function fill(cell, kind, sign, words) {
  cell.className = kind;
  cell.replaceChildren(make("span", { "aria-hidden": "true" }, sign), make("span", { className: "hidden" }, words));
}

function outcome({ admitted, refused, failed }, cap) {
  const sum = `${admitted} admitted, ${refused} refused, ${failed} failed otherwise.`;
  if (failed === size || cap === undefined) return [verdict(failed ? "bad" : "plain", sum, "")];
  let text;
  if (refused === 0) text = `All that were counted fitted into the ${calls(cap)} of the day.`;
  else if (admitted === 0) text = `The ${calls(cap)} of the day were used up before. The next fit tomorrow.`;
  else if (admitted < cap) text = `With the ${cap - admitted} from before, that is exactly the day’s ${calls(cap)}.`;
  else text = `Exactly the day’s ${calls(cap)}, and not one more.`;
  return [verdict(failed ? "plain" : "good", sum, text)];
}
