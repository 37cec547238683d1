// What both SDKs are asked: the edge, and the edge behind a connection that loses the
// first answer.
import assert from "node:assert/strict";

export const edge = process.env.SPENDCAP_EDGE;
export const lossy = process.env.SPENDCAP_LOSSY;
export const ask = [{ role: "user", content: "Say hello." }];

export async function used() {
  const res = await fetch(`${edge}/api/cap`);
  return (await res.json()).calls.used;
}

// once makes a call whose first answer is lost, and checks that it is paid once.
export async function once(call) {
  const before = await used();
  await call();
  assert.equal(await used(), before + 1);
}

// refused calls until the cap is reached, and checks that the SDK shows why.
export async function refused(call) {
  const started = await used();
  for (let n = started; n < 10; n++) await call();
  await assert.rejects(call, (err) => {
    assert.equal(err.status, 429);
    assert.match(err.message, /You have used today's 10 calls\. Try again in/);
    return true;
  });
}
