package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seed3e88d9a2/spendcap/infra"
)

// prefix begins the names of our context values; the CDK has others.
const prefix = "spendcap:"

// read turns context values into settings. A value comes as text from the command line
// and as any kind of JSON from cdk.json. A name that is not known is an error: misspelt,
// the setting would silently be another.
func read(context map[string]any) (stack string, p *infra.Props, err error) {
	var errs []error
	known := map[string]bool{}
	text := func(key string) string {
		known[prefix+key] = true
		if v := context[prefix+key]; v != nil {
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
	for _, name := range slices.Sorted(maps.Keys(context)) {
		if strings.HasPrefix(name, prefix) && !known[name] {
			errs = append(errs, fmt.Errorf("the context value %s is not known: docs/deploy.md has those there are", name))
		}
	}
	return stack, p, errors.Join(errs...)
}

// contextNames puts the names that this program's user writes into what [infra] says of
// its fields.
var contextNames = strings.NewReplacer(
	"infra.Props.AlarmEmail", prefix+"alarmEmail",
	"infra.Props.Architecture", prefix+"architecture",
	"infra.Props.Existing.DistributionID", prefix+"existingDistribution",
	"infra.Props.Existing.URL", prefix+"existingUrl",
	"infra.Props.LogDays", prefix+"logDays",
	"infra.Props.MonthlyBudgetUSD", prefix+"monthlyBudgetUsd",
	"infra.Props.ProviderSecretARN", prefix+"providerSecretArn",
	"infra.Props.RequestsPerSecond and Burst", prefix+"requestsPerSecond and "+prefix+"burst",
	"infra.Props.RotationDays", prefix+"rotationDays",
	"infra.Props.Service", prefix+"service",
)
