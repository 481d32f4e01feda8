// A real API server for custom resources and nothing else: Kubernetes' own apiextensions-apiserver (storage in etcd, schemas with CEL,
// defaults, status, watches, server-side apply), without authentication, on loopback.
package main

import (
	"os"

	"github.com/spf13/pflag"
	"k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	"k8s.io/apiserver/pkg/server"
)

func must(err error) {
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
}

func main() {
	context := server.SetupSignalContext()
	o := options.NewCustomResourceDefinitionsServerOptions(os.Stdout, os.Stderr)
	o.RecommendedOptions.Authentication = nil
	o.RecommendedOptions.Authorization = nil
	o.RecommendedOptions.Admission = nil
	o.RecommendedOptions.Features.EnablePriorityAndFairness = false
	flags := pflag.NewFlagSet("machinery", pflag.ExitOnError)
	o.AddFlags(flags)
	must(flags.Parse(os.Args[1:]))
	must(o.Complete())
	must(o.Validate())
	config, err := o.Config()
	must(err)
	server, err := config.Complete().New(server.NewEmptyDelegate())
	must(err)
	must(server.GenericAPIServer.PrepareRun().RunWithContext(context))
}
