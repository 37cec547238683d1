// Plain words for amounts, waits, and every answer that is not the one hoped for.

// dollars writes an exact decimal as people do: two digits at least, no idle zeros.
export function dollars(amount) {
  const [whole, fraction = ""] = String(amount).split(".");
  return "$" + whole + "." + fraction.slice(0, 2).padEnd(2, "0") + fraction.slice(2).replace(/0+$/, "");
}

const plural = (n, unit) => `${n} ${unit}${n === 1 ? "" : "s"}`;

export const calls = (n) => plural(n, "call");

// wait writes seconds in hours and minutes, rounded up; under a minute in seconds.
export function wait(seconds) {
  if (seconds < 60) return plural(Math.max(1, Math.ceil(seconds)), "second");
  const minutes = Math.ceil(seconds / 60);
  const parts = [];
  if (minutes >= 60) parts.push(plural(Math.floor(minutes / 60), "hour"));
  if (minutes % 60) parts.push(plural(minutes % 60, "minute"));
  return parts.join(" ");
}

// codeOf is the name that an answer gives its error, in either of its two forms.
export function codeOf({ json }) {
  const error = json?.error;
  return typeof error === "string" ? error : (error?.code ?? undefined);
}

export const scopeOf = ({ json }) => json?.scope ?? json?.error?.scope;

// isRefusal tells whether the cap, or its operator, said no.
export const isRefusal = (answer) => answer.status === 429 && scopeOf(answer) !== undefined;

const operator = "Tell whoever runs this site.";
const again = "Try again in a moment.";

// explain returns {title, text} for an answer that is not a success.
export function explain(answer) {
  const { status, json, failure } = answer;
  if (failure === "timeout") {
    return { title: "No answer in time.", text: "Whether the call was made is not known, so it may have been counted. " + again };
  }
  if (failure) {
    return { title: "No answer.", text: "The connection failed or was cut. If the call had arrived, it was counted. Check your connection and try again." };
  }
  if (!json || (status >= 200 && status < 300)) return withoutJSON(answer);
  const code = codeOf(answer);
  const message = [json.message, json.error?.message].find((m) => typeof m === "string");
  switch (status) {
    case 401:
      return unauthorised.get(code) ?? { title: "Refused: not authorised.", text: message ?? operator };
    case 404:
      return { title: "There is no such call here.", text: "The operator’s file leaves it out. Nothing was counted." };
    case 405:
      return { title: "Refused: wrong method.", text: `${answer.path} does not take ${answer.method}. Nothing was counted.` };
    case 409:
      return code === "answer_not_kept"
        ? { title: "Already answered.", text: "This call was made and paid once, but its answer was too large to be kept. It was not paid again." }
        : { title: "Still running.", text: "The same call is being made right now, and is not paid twice. Try again in a few seconds." };
    case 413:
      return { title: "Too long.", text: with_(message, "Nothing was counted. Ask something shorter, or start over.") };
    case 422:
      return { title: "This call cannot be priced, so it was not made.", text: with_(message, "Nothing was counted.") };
    case 429:
      return tooMany(answer, message);
    case 503:
      if (code === "store_unavailable") {
        return { title: "The budget cannot be checked right now.", text: "So nothing was called and nothing was spent: without a count there is no call. " + again };
      }
      return { title: "The API is overloaded.", text: "It did not answer in time. If the call had begun, it was counted. " + again };
    case 502:
    case 504:
      return { title: status === 504 ? "The model took too long." : "The model failed.", text: with_(other(message), spent(answer)) };
  }
  if (status >= 500) {
    return { title: "Something broke.", text: "If something was held for this call, it stays held: the cap is safe. " + operator };
  }
  return { title: `The answer was ${status}.`, text: message ?? "This page does not know what that means. " + operator };
}

const unauthorised = new Map(Object.entries({
  not_via_cloudfront: {
    title: "Refused at the side door.",
    text: "The API was asked without the edge’s secret, so it did not look further. Nothing was counted. On this page that should not happen: " + lower(operator),
  },
  no_viewer_address: {
    title: "Refused: nobody to count.",
    text: "The edge did not say which address is calling, and a call without a bucket is not made. Nothing was counted. " + operator,
  },
  cross_origin: {
    title: "Refused: sent by another site.",
    text: "Your browser says that a page of another site made it send this. Nothing was counted.",
  },
  not_signed_in: {
    title: "Only for those who are signed in.",
    text: "This page calls without signing in. Nothing was counted.",
  },
  no_tier: {
    title: "Refused: no tier.",
    text: "Your sign-in does not say what you may use. Nothing was counted. " + operator,
  },
  no_user: {
    title: "Refused: no user.",
    text: "Your sign-in does not say who you are. Nothing was counted. " + operator,
  },
}));

function tooMany(answer, message) {
  const { json } = answer;
  const when = [json.retryAfter, json.error?.retryAfter].find((n) => typeof n === "number");
  const later = when ? `Try again in ${wait(when)}.` : "Try again later.";
  switch (scopeOf(answer)) {
    case "caller":
      return { title: "Your cap is reached.", text: with_(message ?? later, "Nothing was taken.") };
    case "address":
      return { title: "The cap of your network address is reached.", text: with_(message ?? later, "Your own bucket was left as it was.") };
    case "global":
      return { title: "The cap for everybody is reached.", text: with_(message ?? later, "Your own bucket was left as it was.") };
    case "stopped":
      return stopped(message);
    case "blocked":
      return { title: "Blocked by the operator.", text: message ?? "Calls from your address are not taken at the moment." };
    case undefined:
      break;
    default:
      return { title: "Refused for now.", text: message ?? later };
  }
  if (json.error) {
    return { title: "The model is busy.", text: with_(message, spent(answer)) };
  }
  return { title: "Too many requests at once.", text: "The API’s own fuse for everybody together has blown; nothing was counted. " + again };
}

// stopped is what the operator's stop means, also where it is told along with an answer.
export function stopped(message) {
  return { title: "Switched off by the operator.", text: message ?? "Nothing is called until it is switched on again." };
}

// withoutJSON is for answers that the API did not write: error pages of the edge, or of
// something in between.
function withoutJSON({ status, headers }) {
  if (status >= 200 && status < 300) {
    return { title: "The answer makes no sense.", text: "It says that it worked, but not in a way that the API has. Something in between has replaced it." };
  }
  const title = `The edge answered instead of the API (${status}).`;
  switch (status) {
    case 403:
      return { title, text: "CloudFront, or a firewall in front of it, refused the request before it reached the API. Nothing was counted." };
    case 404:
      return { title, text: "There is no API behind this page." };
    case 413:
    case 414:
      return { title, text: "The request is too large. Nothing was counted." };
    case 429:
      return { title, text: "Too many requests came at once. Nothing was counted. " + again };
    case 502:
      return { title, text: "CloudFront could not reach the API. " + again };
    case 503:
      return { title, text: "The API is overloaded. " + again };
    case 504:
      return { title, text: "The API did not answer in time. If the call had begun, it was counted. " + again };
  }
  const server = headers.get("server");
  return { title, text: "The answer is not from the API" + (server ? `, it is from ${server}` : "") + ". " + operator };
}

// spent tells what a call that failed has cost.
export function spent({ headers }) {
  const held = headers.get("x-spendcap-held");
  const cost = headers.get("x-spendcap-cost");
  if (cost && Number(cost) === 0) return "It cost nothing: what was held has been given back.";
  if (cost) return `It cost ${dollars(cost)}.`;
  if (held) return `What it cost is not known, so the ${dollars(held)} that was held for it stays taken until the day ends.`;
  return "What it cost is not known. If it was made, its worst case stays taken until the day ends.";
}

// other leaves out a message that only says what the title does.
function other(message) {
  return ["The model took too long.", "The model failed."].includes(message) ? undefined : message;
}

function with_(...sentences) {
  return sentences.filter(Boolean).join(" ");
}

function lower(sentence) {
  return sentence[0].toLowerCase() + sentence.slice(1);
}
