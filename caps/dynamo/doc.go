// Package dynamo is the [caps.Store] in Amazon DynamoDB: one item per budget and
// day, and one conditional UpdateItem per budget and step.
//
// An item has the attributes
//
//	k          S  partition key, "<budget>#<YYYY-MM-DD>#<caller key>"
//	n          N  calls taken
//	usd        N  micro-dollars, settled and held together
//	held       N  the part of usd that is held
//	hold:<id>  N  an open hold's worst case in micro-dollars; not in a shared budget's item
//	done:<id>  N  a final charge, when it was made in seconds; kept for a few seconds
//	expiresAt  N  when the item may be deleted, in seconds (the table's TTL attribute)
//
// The table is on demand or has capacity for two writes per call; [CreateTable] makes
// one for local use. The role needs dynamodb:UpdateItem and dynamodb:GetItem on it.
//
// # Retries
//
// The store retries by itself, within its own deadline, and switches the SDK's
// retries off call by call, whatever the client is configured with. A caller's hold
// tells a retry that an earlier attempt has landed. A shared budget's item carries no
// holds, because it would grow with the traffic, so there a write is sent again only
// if it certainly did not land.
//
// Below the SDK, net/http sends a request again by itself only when nothing of it was
// written to the connection, or when it is idempotent by method or by an
// Idempotency-Key header; the SDK's POSTs are neither. So one attempt is at most one
// request.
//
// A packet that is late on the wire can still be applied after the answer. A reserve
// that lands after its own settle holds once more, and one that lands after a refusal
// holds although it was refused: counted, not called, which is the safe side.
package dynamo
