// Package rotation gives the edge and the origin lock a new secret without a viewer
// noticing. It is the logic of the Lambda that AWS Secrets Manager calls for each
// step of a rotation
// (https://docs.aws.amazon.com/secretsmanager/latest/userguide/rotate-secrets_lambda-functions.html):
//
//	createSecret   make the new secret, as AWSPENDING
//	setSecret      wait until every lock accepts it, then let the edge send it
//	testSecret     wait until the edge sends it everywhere, then ask through the edge
//	finishSecret   make it AWSCURRENT; what was current is AWSPREVIOUS
//
// and of a step of our own, [StepRetire], which a schedule calls every day: it takes
// the label AWSPREVIOUS away some time later, so that the old secret is worth nothing.
//
// # What holds at every moment
//
// The locks accept AWSCURRENT, AWSPENDING and AWSPREVIOUS. What the edge's
// configuration says is always one of them, and so is what it said before as long as
// a part of the edge may still send it. Wherever a step is interrupted, repeated or
// called out of its order, this stays so, and calling the steps again from the
// first finishes the rotation. A step that cannot do its part returns an error and
// changes nothing that the site needs.
//
// Nothing is kept between calls: each step finds out from Secrets Manager and
// CloudFront how far the rotation is.
package rotation
