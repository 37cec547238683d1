package simulate_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/internal/simulate"
)

// Play real requests against the operator's file.
func Example() {
	cfg, err := config.LoadFile("../../examples/simulate/spendcap.yaml")
	if err != nil {
		log.Fatal(err)
	}
	file, err := os.Open("../../examples/simulate/requests.csv")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	traffic, err := simulate.ReadCSV(file, simulate.CSVDefaults{Latency: 3 * time.Second})
	if err != nil {
		log.Fatal(err) // names the line, the column and what to write
	}
	report, err := simulate.Play(context.Background(), cfg, traffic)
	if err != nil {
		log.Fatal(err)
	}
	if err := report.Text(os.Stdout, simulate.TextOptions{ASCII: true, Width: 60}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 2026-12-01, a simulated day: 416 requests from 160 callers
	//
	// Spent             $0.059739  of a ceiling of $0.060000
	// Ceiling, at most  100 %      $0.060000 settled and held; held at most $0.001530
	// Without caps      $0.077890  the same requests, all admitted that have a price
	//
	// Admitted          317        76 %
	// Refused           99         24 %
	//   caller's cap    65         65 no call left; first at 08:55:02
	//   ceiling         30         30 not enough dollars left; first at 17:39:16
	//   too large       4
	//   unknown model   0
	//
	// Callers refused
	//   by their cap    6          4 %
	//   by the ceiling  27         17 %
	//   every time      11         7 %
	//
	//  $0.060000 |------------------------------------------------
	//            |                                            :
	//            |                        :#######################
	//            |                     ###########################
	//            |                    ############################
	//            |                   #############################
	//  $0.030000 |                  ##############################
	//            |                 ###############################
	//            |                ################################
	//            |             :##################################
	//            |################################################
	//         $0 |------------------------------------------------
	//            00    03    06    09    12    15    18    21    24
	//                                                ^
	//             ^ the ceiling refuses for the first time at 17:39:16 UTC
	//             # spent, settled   : held, at its most
}

// Play a day that is made up.
func ExampleGenerate() {
	traffic, err := simulate.Generate(simulate.Options{
		Day: caps.DayOf(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)), Seed: 1,
		Callers: 500, CallsPerCaller: 4, InputBytes: 2000, OutputTokens: 150, Latency: 3 * time.Second,
		Shape: simulate.ShapePeak, Peak: 18 * time.Hour,
	})
	if err != nil {
		log.Fatal(err) // names the option
	}
	cfg, err := config.LoadFile("../../spendcap.yaml")
	if err != nil {
		log.Fatal(err)
	}
	report, err := simulate.Play(context.Background(), cfg, traffic)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d of %d admitted for $%s; $%s without caps\n", report.Admitted, report.Attempted, report.Spent, report.WithoutCaps)
	fmt.Printf("%d callers reached their cap, the ceiling was full to %d %%\n", report.CallersRefused.Caller, report.Ceiling.Peak)
	// Output:
	// 1603 of 2000 admitted for $0.265454; $0.331602 without caps
	// 34 callers reached their cap, the ceiling was full to 5 %
}
