/** `k8ts why`: explains why an object is not as it should be. */
import { resolve } from 'node:path'
import { describeFlags, enumFlag, parseArgumentsAndFlags, stringFlag, UsageError } from '#/base/flags.ts'
import { clientOf } from '#/client/client.ts'
import { openConnection } from '#/client/connection.ts'
import type { Command } from '#/command-line/command.ts'
import { kubeconfigPaths, loadKubeconfig, settingsOf } from '#/kubeconfig/kubeconfig.ts'
import { connectHttp, environmentVariables, nodePlatform, type Platform } from '#/platform/node.ts'
import { diagnosisJson, formatDiagnosis } from '#/why/format-diagnosis.ts'
import type { Diagnosis } from '#/why/diagnosis.ts'
import { explain, UnknownKindError } from '#/why/why.ts'
import { adminKubeconfig, dataFolder, dataFolderFlag } from './data-folder.ts'

const flags = {
  namespace: {
    ...stringFlag('NAMESPACE', "namespace of the object (default: the kubeconfig's, or default)"),
    shorthand: 'n',
  },
  kubeconfig: stringFlag(
    'FILE',
    'kubeconfig of the cluster (default: KUBECONFIG, DIR/admin.conf or ~/.kube/config)',
  ),
  context: stringFlag('NAME', 'context of the kubeconfig'),
  ...dataFolderFlag,
  output: { ...enumFlag(['json'], 'the diagnosis as JSON'), shorthand: 'o' },
}

const help = `Usage: k8ts why KIND NAME [-n NAMESPACE] [-o json]

Explains why an object is Pending, not ready, restarting, not scaling or not being deleted: the cause in one sentence,
then what shows it, then commands that may help. Works with any Kubernetes cluster and only reads. Looks at pods through
their nodes, claims, images, probes and logs, and at workloads, Services and Ingresses through their pods.

${describeFlags(flags)}
Examples:
  k8ts why pod web-0
  k8ts why deployment web -n shop
  k8ts why service/web -o json | jq -r .code
`

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const { values, words } = parseArgumentsAndFlags(parameters, flags)
    const { kind, name } = targetOf(words)
    const diagnosis = await diagnose({ ...values, kind, name })
    terminal.write(values.output === 'json' ? diagnosisJson(diagnosis) : formatDiagnosis(diagnosis))
    return diagnosis.code === 'NotFound' ? 1 : 0
  },
}

interface WhyTarget {
  readonly kind: string
  readonly name: string
}

/** `KIND NAME` or `KIND/NAME`. */
function targetOf(words: readonly string[]): WhyTarget {
  const [kind, name, ...more] = words.length === 1 ? (words[0] ?? '').split('/') : words
  if (!kind || !name || more.length > 0) throw new UsageError('usage: k8ts why KIND NAME')
  return { kind, name }
}

interface WhyOptions extends WhyTarget {
  readonly 'namespace'?: string
  readonly 'kubeconfig'?: string
  readonly 'context'?: string
  readonly 'data-dir'?: string
}

async function diagnose({ kind, name, ...options }: WhyOptions): Promise<Diagnosis> {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const environment = environmentVariables()
  const explicitPath = await kubeconfigPath(platform, options)
  const sources = { environment, workingFolder: resolve(), ...(explicitPath && { explicitPath }) }
  const kubeconfig = await loadKubeconfig(platform, sources)
  const { context } = options
  const settings = settingsOf(kubeconfig, context === undefined ? {} : { context })
  if (settings === undefined) {
    throw new Error(
      `no cluster in ${kubeconfigPaths(sources).join(', ') || 'the kubeconfig'}: set --kubeconfig or KUBECONFIG`,
    )
  }
  await using transport = await openConnection({ platform, connect: connectHttp, settings, environment })
  const client = clientOf({ platform, transport, userAgent: 'k8ts-why' })
  const namespace = options.namespace ?? settings.namespace
  try {
    return await explain(client, { kind, name, namespace }, { clock: platform.clock })
  } catch (error) {
    if (error instanceof UnknownKindError) throw new UsageError(error.message, { cause: error })
    throw error
  }
}

/** Without a choice, that of the cluster which `k8ts up` runs, if there is one. */
async function kubeconfigPath(
  platform: Platform,
  options: Pick<WhyOptions, 'kubeconfig' | 'data-dir'>,
): Promise<string | undefined> {
  if (options.kubeconfig !== undefined) return options.kubeconfig
  const administrator = adminKubeconfig(dataFolder(options))
  if (options['data-dir'] !== undefined) return administrator
  if (environmentVariables()['KUBECONFIG']) return undefined
  return (await platform.files.stat(administrator)) === undefined ? undefined : administrator
}
