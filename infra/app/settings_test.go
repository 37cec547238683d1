package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"

	"github.com/seed3e88d9a2/spendcap/infra"
)

func TestRead(t *testing.T) {
	if stack, p, err := read(nil); err != nil || stack != "spendcap" || !reflect.DeepEqual(*p, infra.Props{}) {
		t.Errorf("%q %+v %v", stack, p, err)
	}
	stack, p, err := read(map[string]any{
		"aws:cdk:version": "2", "spendcap:stack": "mine", "spendcap:config": "my.yaml", "spendcap:alarmEmail": "ops@example.com",
		"spendcap:deleteTable": true, "spendcap:monthlyBudgetUsd": 12.5, "spendcap:burst": float64(7), "spendcap:requestsPerSecond": "5",
		"spendcap:logDays": "90", "spendcap:rotationDays": 7, "spendcap:service": "s", "spendcap:architecture": "amd64",
		"spendcap:providerSecretArn": "arn", "spendcap:lambdas": "dist",
		"spendcap:existingDistribution": "E2EXAMPLE", "spendcap:existingUrl": "https://www.example.com",
	})
	want := infra.Props{
		ConfigFile: "my.yaml", AlarmEmail: "ops@example.com", DeleteTable: true, MonthlyBudgetUSD: 12.5, Burst: 7, RequestsPerSecond: 5,
		LogDays: 90, RotationDays: 7, Service: "s", Architecture: "amd64", ProviderSecretARN: "arn", Lambdas: "dist",
		Existing: &infra.Existing{DistributionID: "E2EXAMPLE", URL: "https://www.example.com"},
	}
	if err != nil || stack != "mine" || !reflect.DeepEqual(*p, want) {
		t.Errorf("%q %+v %v", stack, p, err)
	}
	_, _, err = read(map[string]any{"spendcap:deleteTable": "yes", "spendcap:burst": "many", "spendcap:monthlyBudgetUsd": "ten", "spendcap:alarmemail": "ops@example.com"})
	for _, part := range []string{`deleteTable is "yes"`, `burst is "many"`, `monthlyBudgetUsd is "ten"`, "spendcap:alarmemail is not known"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", part, err)
		}
	}
}

// What is wrong with a setting is said in the words in which it was given.
func TestErrorsNameTheContextValue(t *testing.T) {
	_, p, err := read(map[string]any{
		"spendcap:config": "../../examples/config/openai.yaml", "spendcap:alarmEmail": "ops", "spendcap:logDays": "8", "spendcap:rotationDays": "-1",
		"spendcap:monthlyBudgetUsd": "-1", "spendcap:burst": "-1", "spendcap:service": "a b", "spendcap:architecture": "x86", "spendcap:existingUrl": "example.com",
	})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = infra.NewStack(awscdk.NewApp(nil), "spendcap", p)
	if err == nil {
		t.Fatal("no error")
	}
	said := contextNames.Replace(err.Error())
	for _, name := range []string{"alarmEmail", "logDays", "rotationDays", "monthlyBudgetUsd", "burst", "requestsPerSecond", "service", "architecture", "existingUrl", "existingDistribution", "providerSecretArn"} {
		if !strings.Contains(said, "spendcap:"+name+" ") {
			t.Errorf("%s is not named", name)
		}
	}
	if strings.Contains(said, "infra.Props") {
		t.Errorf("a field is named that nobody has written:\n%s", said)
	}
}
