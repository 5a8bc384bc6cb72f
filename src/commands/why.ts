/** `k8ts why`: explains why an object is not as it should be. */
import { describeFlags, enumFlag, parseArgumentsAndFlags, UsageError } from '#/base/flags.ts'
import type { Command } from '#/command-line/command.ts'
import { diagnosisJson, formatDiagnosis } from '#/why/format-diagnosis.ts'
import type { Diagnosis } from '#/why/diagnosis.ts'
import { explain, UnknownKindError } from '#/why/why.ts'
import { clientFlags, connectClient, type ClientChoice } from './client-connection.ts'
import { objectWords, type ObjectWords } from './object-words.ts'

const flags = {
  ...clientFlags,
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
    const { kind, name } = objectWords(words, 'why')
    const diagnosis = await diagnose({ ...values, kind, name })
    terminal.write(values.output === 'json' ? diagnosisJson(diagnosis) : formatDiagnosis(diagnosis))
    return diagnosis.code === 'NotFound' ? 1 : 0
  },
}

async function diagnose({ kind, name, ...choice }: ObjectWords & ClientChoice): Promise<Diagnosis> {
  await using connection = await connectClient(choice, 'k8ts-why')
  const { client, namespace, clock } = connection
  try {
    return await explain(client, { kind, name, namespace }, { clock })
  } catch (error) {
    if (error instanceof UnknownKindError) throw new UsageError(error.message, { cause: error })
    throw error
  }
}
