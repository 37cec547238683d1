package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/seed3e88d9a2/spendcap/infra"
)

// read turns context values into settings. A value comes as text from the command line
// and as any kind of JSON from cdk.json.
func read(context func(string) any) (stack string, p *infra.Props, err error) {
	var errs []error
	text := func(key string) string {
		if v := context("spendcap:" + key); v != nil {
			return fmt.Sprint(v)
		}
		return ""
	}
	number := func(key string) int {
		v := text(key)
		if v == "" {
			return 0
		}
		n, err := strconv.Atoi(v)
		if err != nil {
			errs = append(errs, fmt.Errorf("the context value spendcap:%s is %q, which is not a whole number", key, v))
		}
		return n
	}
	p = &infra.Props{
		ConfigFile:        text("config"),
		ProviderSecretARN: text("providerSecretArn"),
		AlarmEmail:        text("alarmEmail"),
		RequestsPerSecond: number("requestsPerSecond"),
		Burst:             number("burst"),
		LogDays:           number("logDays"),
		RotationDays:      number("rotationDays"),
		Service:           text("service"),
		Architecture:      text("architecture"),
		Lambdas:           text("lambdas"),
	}
	if id, url := text("existingDistribution"), text("existingUrl"); id != "" || url != "" {
		p.Existing = &infra.Existing{DistributionID: id, URL: url}
	}
	switch v := text("deleteTable"); v {
	case "true":
		p.DeleteTable = true
	case "", "false":
	default:
		errs = append(errs, fmt.Errorf("the context value spendcap:deleteTable is %q, which is neither true nor false", v))
	}
	if v := text("monthlyBudgetUsd"); v != "" {
		if p.MonthlyBudgetUSD, err = strconv.ParseFloat(v, 64); err != nil {
			errs = append(errs, fmt.Errorf("the context value spendcap:monthlyBudgetUsd is %q, which is not a number", v))
		}
	}
	if stack = text("stack"); stack == "" {
		stack = "spendcap"
	}
	return stack, p, errors.Join(errs...)
}
