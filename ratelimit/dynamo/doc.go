// Package dynamo is the [ratelimit.Store] in Amazon DynamoDB: one item per window, and
// one conditional UpdateItem per check in the common case. It may share the table of
// caps/dynamo.
//
// A window with the limit N has N slots. An admission overwrites any one slot that is
// empty or whose own admission has left the window, and nothing else; so every slot
// admits at most once per window, and N slots at most N times. Two processes that take
// different slots do not meet at all. Which slots are free a store learns from every
// reply, also from that of a failed condition, and draws one of them; if another process
// was faster it draws again. A process that knows nothing draws from all, which finds a
// free one unless the window is well filled.
//
// An item has the attributes
//
//	k          S  partition key, "rate#<rule>#<key>"
//	00 to rr   N  the slots: when an admission was made, in milliseconds since 1970
//	expiresAt  N  when the item may be deleted, in seconds (the table's TTL attribute)
//
// A slot's time is rounded up, and has a random fraction that tells a retry whether an
// attempt before it has landed. The size is constant once all slots are in use: about 13
// bytes for each, under 1 KB (one write unit) up to a limit of 70, under 4 KB for 300.
//
// The role needs dynamodb:UpdateItem on the table, and nothing else. The store retries by
// itself and switches the SDK's retries off, whatever the client is configured with.
package dynamo
