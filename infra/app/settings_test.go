package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/infra"
)

func TestRead(t *testing.T) {
	from := func(values map[string]any) func(string) any {
		return func(key string) any { return values[key] }
	}
	if stack, p, err := read(from(nil)); err != nil || stack != "spendcap" || !reflect.DeepEqual(*p, infra.Props{}) {
		t.Errorf("%q %+v %v", stack, p, err)
	}
	stack, p, err := read(from(map[string]any{
		"spendcap:stack": "mine", "spendcap:config": "my.yaml", "spendcap:alarmEmail": "ops@example.com",
		"spendcap:deleteTable": true, "spendcap:monthlyBudgetUsd": 12.5, "spendcap:burst": float64(7), "spendcap:requestsPerSecond": "5",
		"spendcap:logDays": "90", "spendcap:rotationDays": 7, "spendcap:service": "s", "spendcap:architecture": "amd64",
		"spendcap:providerSecretArn": "arn", "spendcap:lambdas": "dist",
		"spendcap:existingDistribution": "E2EXAMPLE", "spendcap:existingUrl": "https://www.example.com",
	}))
	want := infra.Props{
		ConfigFile: "my.yaml", AlarmEmail: "ops@example.com", DeleteTable: true, MonthlyBudgetUSD: 12.5, Burst: 7, RequestsPerSecond: 5,
		LogDays: 90, RotationDays: 7, Service: "s", Architecture: "amd64", ProviderSecretARN: "arn", Lambdas: "dist",
		Existing: &infra.Existing{DistributionID: "E2EXAMPLE", URL: "https://www.example.com"},
	}
	if err != nil || stack != "mine" || !reflect.DeepEqual(*p, want) {
		t.Errorf("%q %+v %v", stack, p, err)
	}
	_, _, err = read(from(map[string]any{"spendcap:deleteTable": "yes", "spendcap:burst": "many", "spendcap:monthlyBudgetUsd": "ten"}))
	for _, part := range []string{`deleteTable is "yes"`, `burst is "many"`, `monthlyBudgetUsd is "ten"`} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", part, err)
		}
	}
}
