/** `k8ts upgrade`: brings a running cluster to the version of this program. */
import { boolFlag, stringSliceFlag } from '#/base/flags.ts'
import { outputFlag } from '#/kubeadm/print-object.ts'
import { connectionFlags } from './cluster-connection.ts'
import { commandWithSubcommands, subcommand } from './subcommands.ts'
import { applyUpgrade } from './upgrade/apply.ts'
import { upgradeNode } from './upgrade/node.ts'
import { showPlan } from './upgrade/plan.ts'

const hostFlags = {
  'certificate-renewal': boolFlag('renew the certificates of this host (default true)'),
  'dry-run': boolFlag('show what would be done, and change nothing'),
  'ignore-preflight-errors': stringSliceFlag('NAMES', 'checks whose errors are shown as warnings, or all'),
  'skip-phases': stringSliceFlag('NAMES', 'phases to be skipped'),
  ...connectionFlags,
}

const applyFlags = {
  force: { ...boolFlag('upgrade also against the version skew policy; implies --yes'), shorthand: 'f' },
  yes: { ...boolFlag('do not ask for confirmation'), shorthand: 'y' },
  ...hostFlags,
}

export const command = commandWithSubcommands({
  name: 'upgrade',
  summary: `Upgrades a running cluster to the version of this program: install the new package, then run this command of
it. Containers go on. If a component does not become ready, the program that ran before continues.`,
  subcommands: {
    plan: subcommand({
      usage: '[VERSION]',
      summary: 'Show the versions of all components, and whether the cluster can be upgraded',
      flags: { output: outputFlag, ...connectionFlags },
      maxArguments: 1,
      run: showPlan,
    }),
    apply: subcommand({
      usage: '[VERSION]',
      summary: 'Upgrade the cluster of k8ts up, or the first control plane host',
      flags: applyFlags,
      maxArguments: 1,
      run: applyUpgrade,
    }),
    node: subcommand({
      summary: 'Upgrade a further host of the cluster, after k8ts upgrade apply on the first one',
      flags: hostFlags,
      maxArguments: 0,
      run: upgradeNode,
    }),
  },
  examples: `  npm install --global k8ts && k8ts upgrade plan
      after the installation of a new package: what would be upgraded
  k8ts upgrade apply --yes
      upgrades a cluster of k8ts up, which continues with its flags
  k8ts upgrade apply v1.36.4 --certificate-renewal=false
  k8ts upgrade node
      on every other host of a cluster of several machines
`,
})

export type ApplyFlags = typeof applyFlags
export type HostFlags = typeof hostFlags
