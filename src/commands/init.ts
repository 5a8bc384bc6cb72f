/** `k8ts init`: initializes a control plane on this host, whole or one phase at a time. */
import { UsageError } from '#/base/flags.ts'
import { generateBootstrapToken } from '#/kubeadm/bootstrap-token.ts'
import { generateCertificateKey } from '#/kubeadm/certificate-key.ts'
import type { Configuration } from '#/kubeadm/configuration.ts'
import { planInit } from '#/kubeadm/init-settings.ts'
import { machineNames } from '#/platform/node.ts'
import { kubeadmVersion } from './configuration-file.ts'
import { ControlPlaneHost } from './control-plane-host.ts'
import { dataFolder } from './data-folder.ts'
import { initConfiguration, initFlags } from './init/flags.ts'
import type { PhaseRun } from './init/phase.ts'
import { phases } from './init/phases.ts'
import { commandWithSubcommands, subcommand, type SubcommandInvocation } from './subcommands.ts'

type Invocation = SubcommandInvocation<typeof initFlags>

const usage = Object.entries(phases)
  .map(([name, { parts }]) => `  ${name}${parts.length > 0 ? ` ${parts.join('|')}` : ''}\n`)
  .join('')

export const command = commandWithSubcommands({
  name: 'init',
  summary: `Initializes a control plane on this host: runs all phases in their order, and leaves its processes running
in the background. See k8ts host for starting them again, k8ts join for further hosts, and k8ts reset for undoing it.`,
  whole: subcommand({
    summary: 'Initialize a control plane',
    flags: initFlags,
    maxArguments: 0,
    run: runAll,
  }),
  subcommands: {
    phase: subcommand({
      usage: 'PHASE [PART]',
      summary: 'Run one phase, which can be run again',
      flags: initFlags,
      maxArguments: 2,
      run: runPhase,
    }),
  },
  examples: `  k8ts init
      a cluster with one control plane, whose store is embedded in the API server
  k8ts init --local-etcd --upload-certs
      the first of several control planes
  k8ts init --control-plane-as static-pod
      a control plane whose components are pods of the kubelet of this host
  k8ts init phase certs all --config cluster.yaml
  k8ts init phase upload-certs --upload-certs

Phases, with their parts:
${usage}`,
})

async function runAll(invocation: Invocation): Promise<number> {
  const { platform, flags } = invocation
  const given = await initConfiguration(platform, flags)
  const configuration = completeConfiguration(given, invocation)
  const skipped = new Set([...(configuration.init.skipPhases ?? []), ...(flags['skip-phases'] ?? [])])
  const unknown = [...skipped].find(name => !Object.hasOwn(phases, name))
  if (unknown !== undefined) throw new UsageError(`--skip-phases: there is no phase ${unknown}`)
  const certificateKey =
    flags['certificate-key'] ?? configuration.init.certificateKey ?? generateCertificateKey(platform.random)
  const run = phaseRun(
    { ...invocation, flags: { ...flags, 'certificate-key': certificateKey } },
    configuration,
  )
  for (const [name, phase] of Object.entries(phases)) {
    if (skipped.has(name)) continue
    const code = (await phase.run({ ...run, part: 'all' })) ?? 0
    if (code !== 0) return code
  }
  return 0
}

/** What several phases need, and must be the same in all of them. */
function completeConfiguration(configuration: Configuration, { platform, flags }: Invocation): Configuration {
  const { init, cluster } = configuration
  const [first, ...others] = init.bootstrapTokens ?? [{}]
  const { podSubnet } = cluster.networking ?? {}
  const hasPodNetwork = (flags.cni ?? 'vxlan') !== 'none'
  return {
    ...configuration,
    init: {
      ...init,
      bootstrapTokens: [
        { ...first, token: first?.token ?? generateBootstrapToken(platform.random) },
        ...others,
      ],
    },
    cluster: {
      ...cluster,
      networking: {
        ...cluster.networking,
        ...(podSubnet === undefined && hasPodNetwork && { podSubnet: defaultPodSubnet }),
      },
    },
  }
}

const defaultPodSubnet = '10.244.0.0/16'

async function runPhase(invocation: Invocation): Promise<number> {
  const [name = '', part = 'all'] = invocation.words
  const phase = Object.hasOwn(phases, name) ? phases[name] : undefined
  if (phase === undefined || (part !== 'all' && !phase.parts.includes(part)))
    throw new UsageError(`usage: k8ts init phase PHASE [PART], with one of\n${usage}`.trimEnd())
  const configuration = await initConfiguration(invocation.platform, invocation.flags)
  return (await phase.run({ ...phaseRun(invocation, configuration), part })) ?? 0
}

function phaseRun(invocation: Invocation, configuration: Configuration): Omit<PhaseRun, 'part'> {
  const [hostname = 'node', address = '127.0.0.1'] = machineNames()
  const settings = planInit({
    folder: dataFolder(invocation.flags),
    configuration,
    kubernetesVersion: `${kubeadmVersion}.0`,
    machine: { hostname, address },
  })
  const { platform, flags } = invocation
  return {
    ...invocation,
    configuration,
    settings,
    controlPlane: new ControlPlaneHost({ platform, settings, flags }),
  }
}
