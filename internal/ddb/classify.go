package ddb

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/smithy-go"
)

// verdict is what an attempt tells about the write.
type verdict int

const (
	answered verdict = iota
	rejected         // certainly not applied, and the next attempt would not be either
	busy             // certainly not applied; worth another attempt
	unknown          // may have been applied, now or later
)

// transient are the codes of refusals that pass: throttling, and a conflict with a
// transaction or a replica
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html).
var transient = map[string]bool{
	"ProvisionedThroughputExceededException": true,
	"RequestLimitExceeded":                   true,
	"ThrottlingException":                    true,
	"TransactionConflictException":           true,
	"ReplicatedWriteConflictException":       true,
}

// noCode is what the SDK puts where an error has no code.
const noCode = "UnknownError"

// classify judges an attempt by its error. Certain is only what a 4xx answer says or
// what never got a connection; whatever else happened may have been applied: a 5xx, a
// time-out, a lost connection, a reply that cannot be read.
func classify(err error, p *probe) verdict {
	if err == nil {
		return answered
	}
	var api smithy.APIError
	isAPI := errors.As(err, &api)
	switch status := statusOf(err); {
	case status != 0:
		if status < 400 || status >= 500 || status == http.StatusRequestTimeout {
			return unknown
		}
		// A refusal without a code that can be read may be anything, a failed condition too.
		if status == http.StatusTooManyRequests || !isAPI || api.ErrorCode() == noCode || transient[api.ErrorCode()] {
			return busy
		}
		return rejected
	case isAPI && api.ErrorFault() == smithy.FaultClient:
		if transient[api.ErrorCode()] {
			return busy
		}
		return rejected
	case p.unasked():
		return rejected
	case p.unconnected():
		return busy
	default:
		return unknown
	}
}

// statusOf returns the status of the response that an error is about, 0 if none came:
// the SDK makes up a response of status 0 then.
func statusOf(err error) int {
	var response interface{ HTTPStatusCode() int }
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}

// remedies say what an operator can do, by error code.
var remedies = map[string]string{
	"ResourceNotFoundException":              "the table does not exist in this account and region: create it, or correct its name or the region",
	"AccessDeniedException":                  "allow dynamodb:UpdateItem and dynamodb:GetItem on the table to this role",
	"ExpiredTokenException":                  "the credentials have expired: renew them",
	"UnrecognizedClientException":            "the credentials are not valid: renew them",
	"InvalidSignatureException":              "the signature is refused: check the secret key and this machine's clock",
	"ValidationException":                    "check that the table's only key is k, a string",
	"ProvisionedThroughputExceededException": "the table is throttled: switch it to on-demand, or raise its capacity",
	"ThrottlingException":                    "the table is throttled: raise its limits",
	"RequestLimitExceeded":                   "the account is throttled: ask for a higher limit",
}

// Explain says which table and operation failed, and what to do if that is known.
func Explain(table, operation string, err error) error {
	if err == nil {
		return nil
	}
	if remedy, ok := remedies[codeOf(err)]; ok {
		err = fmt.Errorf("%s: %w", remedy, err)
	}
	return fmt.Errorf("DynamoDB table %s, %s: %w", table, operation, err)
}

// Misconfigured tells whether err is one that no waiting will cure: the table is
// missing or of another shape, or the credentials do not allow what is asked.
func Misconfigured(err error) bool {
	code := codeOf(err)
	return remedies[code] != "" && !transient[code]
}

func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}
