package deployment

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// explained is an error with what can be done about it in the place of its text.
type explained struct {
	text  string
	cause error
}

func (e *explained) Error() string { return e.text }
func (e *explained) Unwrap() error { return e.cause }

// Explain returns the error of a request, with what can be done about it if that is
// known.
func (d *Deployment) Explain(err error) error {
	because := func(format string, args ...any) error { return &explained{fmt.Sprintf(format, args...), err} }
	var missing *types.ResourceNotFoundException
	var api smithy.APIError
	switch endpoint := d.options.Endpoint; {
	case err == nil:
		return nil
	case errors.As(err, &missing) && endpoint != "":
		return because("there is no table %q at %s: start `spendcap dev --dynamodb-endpoint %[2]s` once, which creates it, or give its name with --table", d.Table, endpoint)
	case errors.As(err, &missing):
		return because("there is no table %q in %s: give --table, --region or --profile, or leave --table out to find it by the stack", d.Table, d.aws.Region)
	case errors.Is(err, syscall.ECONNREFUSED) && endpoint != "":
		return ExplainLocal(endpoint, err)
	case errors.As(err, &api) && api.ErrorCode() == "AccessDeniedException":
		return because("AWS does not allow it: %s (the command's --help has the permissions that it needs)", api.ErrorMessage())
	}
	return err
}

// ExplainLocal returns the error of a request to a DynamoDB on this machine, with what can
// be done about it if that is known.
func ExplainLocal(endpoint string, err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return &explained{fmt.Sprintf("nothing answers at --dynamodb-endpoint %s: is it running?", endpoint), err}
	}
	return fmt.Errorf("--dynamodb-endpoint %s: %w", endpoint, err)
}
