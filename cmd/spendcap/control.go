package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/control"
	"github.com/seed3e88d9a2/spendcap/internal/control/dynamo"
	"github.com/seed3e88d9a2/spendcap/internal/deployment"
)

func asFlag(as *string) cli.Flag {
	return &cli.StringFlag{Name: "as", Destination: as, DefaultText: "the ARN of the AWS identity, or user@host", Usage: "`NAME` that is recorded as who made the change"}
}

// controls reads and changes what an operator has set in a deployment.
type controls struct {
	env
	deployment *deployment.Deployment
	store      *dynamo.Store
}

func controlsOf(e env, d *deployment.Deployment) (*controls, error) {
	store, err := dynamo.New(dynamo.Config{Client: d.DynamoDB, Table: d.Table})
	return &controls{e, d, store}, err
}

// state is what is set now.
func (c *controls) state(ctx context.Context) (control.State, error) {
	s, _, err := c.store.Read(ctx)
	return s.At(c.now()), err
}

// operator makes changes in the name of as, or of whoever is at the tool.
func (c *controls) operator(ctx context.Context, as string, budgets []caps.Budget) (*control.Operator, error) {
	if as == "" {
		as = c.deployment.Who(ctx)
	}
	op, err := control.NewOperator(control.OperatorConfig{Store: c.store, By: as, Budgets: budgets, Now: c.now})
	if err != nil {
		err = fmt.Errorf("%w: --as gives another name", err)
	}
	return op, err
}

// changed is what a change prints as JSON.
type changed struct {
	Changed bool   `json:"changed"`
	Why     string `json:"why,omitempty"` // nothing was
	*control.Record
}

// tell prints what came of a change: text, or the record as JSON. That what is wanted was
// so already is no failure.
func (c *controls) tell(r control.Record, err error, asJSON bool, text func(control.Record) string) error {
	switch {
	case errors.Is(err, control.ErrUnchanged) && asJSON:
		return c.json(changed{Why: err.Error()})
	case errors.Is(err, control.ErrUnchanged):
		_, err = fmt.Fprintln(c.stdout, err)
		return err
	case err != nil:
		return err
	case asJSON:
		return c.json(changed{Changed: true, Record: &r})
	}
	_, err = fmt.Fprintln(c.stdout, text(r))
	return err
}

// until tells when something ends, and how long that is.
func until(end, now time.Time, otherwise string) string {
	if end.IsZero() {
		return otherwise
	}
	left := strings.TrimSuffix(end.Sub(now).Round(time.Minute).String(), "0s")
	return fmt.Sprintf("until %s (%s)", end.UTC().Format(time.RFC3339), left)
}

// changeHelp ends the help of the commands that change something.
const changeHelp = `
Every change is recorded in the table, with who and when; ` + "`spendcap history`" + ` shows it.
JSON: {"changed": true, "version", "id", "at", "by", "action", "old", "new"}, of which old
and new have what was touched, under "stop", "limits" or "blocks"; or {"changed": false,
"why"} if it was so already.
`
