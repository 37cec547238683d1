// Starts the parts of the page.

import { ask } from "./api.js";
import { start as startAttacks } from "./attacks.js";
import { start as startBucket } from "./bucket.js";
import { start as startBurst } from "./burst.js";
import { start as startChat } from "./chat.js";

startBurst();
startBucket();
startChat();
// config.json is written by what serves this page.
const config = await ask("GET", "config.json");
startAttacks(config.json?.sideDoor);
