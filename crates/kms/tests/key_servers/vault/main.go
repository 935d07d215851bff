// A Vault for tests, over its library: everything in memory, one unseal share, the engines that keys may be in.
//
//	vault LISTEN [CERT KEY]
//
// Prints one line of JSON when it answers: the address and the root token. Ends with its standard input.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/hashicorp/go-hclog"
	kv "github.com/hashicorp/vault-plugin-secrets-kv"
	"github.com/hashicorp/vault/builtin/credential/approle"
	"github.com/hashicorp/vault/builtin/logical/transit"
	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/sdk/helper/consts"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/sdk/physical/inmem"
	"github.com/hashicorp/vault/vault"
)

// What Vault calls built in: what a mount asks for before it is made.
type builtin struct{}

func (builtin) Contains(name string, kind consts.PluginType) bool {
	_, is := builtin{}.Get(name, kind)
	return is
}

func (builtin) Get(name string, kind consts.PluginType) (func() (interface{}, error), bool) {
	is := kind == consts.PluginTypeSecrets && (name == "transit" || name == "kv") || kind == consts.PluginTypeCredential && name == "approle"
	return func() (interface{}, error) { return nil, nil }, is
}

func (builtin) Keys(consts.PluginType) []string { return nil }

func (builtin) IsBuiltinEntPlugin(string, consts.PluginType) bool { return false }

func (builtin) DeprecationStatus(string, consts.PluginType) (consts.DeprecationStatus, bool) {
	return consts.Supported, true
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	logger := hclog.NewNullLogger()
	backend, err := inmem.NewInmem(nil, logger)
	check(err)
	core, err := vault.NewCore(&vault.CoreConfig{
		Physical:        backend,
		DisableMlock:    true,
		BuiltinRegistry: builtin{},
		Logger:          logger,
		LogicalBackends: map[string]logical.Factory{
			"transit": transit.Factory,
			"kv":      kv.Factory,
		},
		CredentialBackends: map[string]logical.Factory{"approle": approle.Factory},
	})
	check(err)
	ctx := context.Background()
	one := &vault.SealConfig{SecretShares: 1, SecretThreshold: 1}
	made, err := core.Initialize(ctx, &vault.InitParams{BarrierConfig: one, RecoveryConfig: nil})
	check(err)
	_, err = core.Unseal(made.SecretShares[0])
	check(err)
	listener, err := net.Listen("tcp", os.Args[1])
	check(err)
	handler := vaulthttp.Handler.Handler(&vault.HandlerProperties{Core: core})
	go func() {
		if len(os.Args) > 3 {
			check(http.ServeTLS(listener, handler, os.Args[2], os.Args[3]))
		}
		check(http.Serve(listener, handler))
	}()
	said, err := json.Marshal(map[string]string{"address": listener.Addr().String(), "token": made.RootToken})
	check(err)
	fmt.Println(string(said))
	_, _ = io.Copy(io.Discard, os.Stdin)
}
