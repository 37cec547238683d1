// Package sealed keeps the address of a blocked caller so that only an operator can read
// it: the Lambda and the operator's tool seal it with a public key, and the private key
// that opens it is where the operator keeps it, never in AWS.
//
// It is HPKE (RFC 9180) in base mode with DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and
// AES-256-GCM. A symmetric key could not be one that the Lambda has and only the operator
// opens with: whoever seals with it can open. The text is padded to one length, so that
// its size tells nothing, and is bound to the block that it belongs to: moved to another
// block it does not open.
package sealed
