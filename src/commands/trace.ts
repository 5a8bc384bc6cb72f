/** `k8ts trace`: explains decisions of the scheduler. */
import { resolve } from 'node:path'
import { isApiError } from '#/api/errors.ts'
import {
  boolFlag,
  describeFlags,
  enumFlag,
  parseArgumentsAndFlags,
  stringFlag,
  UsageError,
} from '#/base/flags.ts'
import { clientOf } from '#/client/client.ts'
import { openConnection } from '#/client/connection.ts'
import { loadKubeconfig, settingsOf } from '#/kubeconfig/kubeconfig.ts'
import type { Command } from '#/command-line/command.ts'
import { connectHttp, environmentVariables, nodePlatform } from '#/platform/node.ts'
import type { PodDecision } from '#/scheduler/scheduler.ts'
import { formatDecision } from './format-decision.ts'

const flags = {
  namespace: {
    ...stringFlag('NAMESPACE', "namespace of the pod (default: the kubeconfig's, or default)"),
    shorthand: 'n',
  },
  scheduling: boolFlag('the scheduling decision (currently the only option)'),
  kubeconfig: stringFlag('FILE', 'kubeconfig of the cluster (default: KUBECONFIG)'),
  output: { ...enumFlag(['json'], 'the complete decision as JSON'), shorthand: 'o' },
}

const help = `Usage: k8ts trace pod NAME --scheduling [-n NAMESPACE] [--kubeconfig FILE] [-o json]

Shows the last scheduling decision for a pod: the nodes rejected by each plugin with the reasons, and the scores of the
others. The scheduler keeps its last thousand decisions in memory.

${describeFlags(flags)}
Examples:
  k8ts trace pod web-0 --scheduling
  k8ts trace pod web-0 -n shop --scheduling -o json | jq .rejected
`

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const { values, words } = parseArgumentsAndFlags(parameters, flags)
    const [kind, name, ...more] = words
    if (kind !== 'pod' || name === undefined || more.length > 0 || !values.scheduling) {
      throw new UsageError('usage: k8ts trace pod NAME --scheduling')
    }
    const { decision, namespace } = await readDecision(name, values)
    if (decision === undefined) {
      terminal.writeError(`no scheduling decision is kept for pod ${namespace}/${name}\n`)
      return 1
    }
    terminal.write(
      values.output === 'json' ? `${JSON.stringify(decision, null, 2)}\n` : formatDecision(decision),
    )
    return 0
  },
}

interface DecisionSource {
  readonly namespace?: string | undefined
  readonly kubeconfig?: string | undefined
}

async function readDecision(
  name: string,
  { namespace: given, kubeconfig: explicitPath }: DecisionSource,
): Promise<{ readonly decision: PodDecision | undefined; readonly namespace: string }> {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const sources = { environment: environmentVariables(), workingFolder: resolve() }
  const kubeconfig = await loadKubeconfig(platform, { ...sources, ...(explicitPath && { explicitPath }) })
  const settings = settingsOf(kubeconfig)
  if (settings === undefined) throw new Error('no cluster configured: set KUBECONFIG or --kubeconfig')
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
