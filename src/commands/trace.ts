/** `k8ts trace`: explains decisions of the scheduler. */
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { isApiError } from '#/api/errors.ts'
import { UsageError } from '#/base/flags.ts'
import { clientOf } from '#/client/client.ts'
import { openConnection } from '#/client/connection.ts'
import { loadKubeconfig, settingsOf } from '#/client/kubeconfig.ts'
import type { Command } from '#/command-line/command.ts'
import { connectHttp, environmentVariables, nodePlatform } from '#/platform/node.ts'
import type { PodDecision } from '#/scheduler/scheduler.ts'
import { formatDecision } from './format-decision.ts'

const help = `Usage: k8ts trace pod NAME --scheduling [-n NAMESPACE] [--kubeconfig FILE] [-o json]

Shows how the scheduler last decided on a pod: which nodes it refused, by which plugin and why, and how the others
scored. The scheduler remembers its last thousand decisions, as long as it runs.

  -n, --namespace NAMESPACE  where the pod is (that of the kubeconfig, or default)
      --scheduling           how it was placed, or why not; the only thing that can be asked yet
      --kubeconfig FILE      the cluster (that of the environment's KUBECONFIG)
  -o, --output json          all of it, for programs

Examples:
  k8ts trace pod web-0 --scheduling
  k8ts trace pod web-0 -n shop --scheduling -o json | jq .refused
`

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const { values, positionals } = parseArgs({
      args: [...parameters],
      allowPositionals: true,
      options: {
        namespace: { type: 'string', short: 'n' },
        scheduling: { type: 'boolean', default: false },
        kubeconfig: { type: 'string' },
        output: { type: 'string', short: 'o', default: '' },
      },
    })
    const [kind, name, ...more] = positionals
    if (kind !== 'pod' || name === undefined || more.length > 0)
      throw new UsageError('what is meant: pod NAME')
    if (!values.scheduling) throw new UsageError('what is asked: --scheduling')
    if (values.output !== '' && values.output !== 'json')
      throw new UsageError(`-o ${values.output}: not json`)
    const { decision, namespace } = await ask(name, values)
    if (decision === undefined) {
      terminal.writeError(`the scheduler knows nothing of pod ${namespace}/${name}: it may be too long ago\n`)
      return 1
    }
    terminal.write(
      values.output === 'json' ? `${JSON.stringify(decision, null, 2)}\n` : formatDecision(decision),
    )
    return 0
  },
}

interface Asked {
  readonly namespace?: string | undefined
  readonly kubeconfig?: string | undefined
}

async function ask(
  name: string,
  { namespace: given, kubeconfig: explicitPath }: Asked,
): Promise<{ readonly decision: PodDecision | undefined; readonly namespace: string }> {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const sources = { environment: environmentVariables(), workingFolder: resolve() }
  const kubeconfig = await loadKubeconfig(platform, { ...sources, ...(explicitPath && { explicitPath }) })
  const settings = settingsOf(kubeconfig)
  if (settings === undefined) throw new Error('no cluster is known: set KUBECONFIG or use --kubeconfig')
  const namespace = given ?? settings.namespace
  await using transport = await openConnection({ platform, connect: connectHttp, settings })
  const client = clientOf({ platform, transport, userAgent: 'k8ts-trace' })
  const path = `/debug/scheduling/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`
  try {
    const response = await client.raw({ method: 'GET', path })
    return { namespace, decision: (await response.value()) as PodDecision }
  } catch (error) {
    if (isApiError(error, 'NotFound')) return { namespace, decision: undefined }
    throw error
  }
}
