/** `k8ts trace`: the chain from a client's request to running containers and back, and decisions of the scheduler. */
import { isApiError } from '#/api/errors.ts'
import { escapeControlCharacters } from '#/base/escape-control-characters.ts'
import {
  boolFlag,
  describeFlags,
  enumFlag,
  integerFlag,
  parseArgumentsAndFlags,
  stringFlag,
  UsageError,
} from '#/base/flags.ts'
import type { Client } from '#/client/client.ts'
import type { Command, Terminal } from '#/command-line/command.ts'
import type { PodDecision } from '#/scheduler/scheduler.ts'
import { collectTrace } from '#/trace/collect-trace.ts'
import { followTrace } from '#/trace/follow-trace.ts'
import { formatTrace, HopPrinter, traceJson } from '#/trace/format-trace.ts'
import { otlpTraces } from '#/trace/otlp.ts'
import type { Trace } from '#/trace/trace.ts'
import { formatDiagnosis } from '#/why/format-diagnosis.ts'
import { explain } from '#/why/why.ts'
import { clientFlags, connectClient, type ClientConnection } from './client-connection.ts'
import { objectWords, requireResource, type ObjectWords } from './object-words.ts'
import { postTraces, tracesUrl } from './trace/post-traces.ts'
import { formatDecision } from './trace/format-decision.ts'

const flags = {
  ...clientFlags,
  'all': boolFlag('every hop: also alike ones of many pods, events, and what followed later'),
  'at-revision': integerFlag(
    'N',
    'the chain of this revision of the object (default: the latest change by a client)',
  ),
  'follow': {
    ...boolFlag('print hops as they happen, until pods are ready and the chain is quiet for a minute'),
    shorthand: 'f',
  },
  'otlp': stringFlag('URL', 'send the trace to an OpenTelemetry collector: http://localhost:4318'),
  'scheduling': boolFlag('the last scheduling decision for a pod instead'),
  'why': boolFlag('explain the state of the object below the trace, as k8ts why does'),
  'output': {
    ...enumFlag(['json', 'otlp'], 'the trace as JSON, or in the JSON of OpenTelemetry'),
    shorthand: 'o',
  },
}

const help = `Usage: k8ts trace KIND NAME [--follow] [--why] [--at-revision N] [--otlp URL] [-o json|otlp]
       k8ts trace pod NAME --scheduling [-o json]

Shows what a change of an object caused, as a timeline: the client's request with the stages of the API server, then
each pass of a controller, the scheduler, a kubelet, a service proxy and DNS, with the waits between them. Of a pod or
another object that a component made, the chain begins with the request that was the reason. Time that nothing explains
is marked as a gap. Only servers of k8ts record causes; writes are kept for a day and up to a size, see
--history-max-age of k8ts up.

--scheduling shows the nodes that each plugin of the scheduler rejected, with the reasons, and the scores of the others.
The scheduler keeps its last thousand decisions in memory.

${describeFlags(flags)}
Examples:
  k8ts trace deployment web
  k8ts trace pod web-0 -n shop --why
  k8ts trace deployment web --follow
  k8ts trace deployment web --at-revision 1042 -o json | jq '.breakdown'
  k8ts trace deployment web --otlp http://localhost:4318
  k8ts trace pod web-0 --scheduling
`

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const { values, words } = parseArgumentsAndFlags(parameters, flags)
    const given = objectWords(words, 'trace')
    requireCompatible(given, values)
    const collector = values.otlp === undefined ? undefined : tracesUrl(values.otlp)
    await using connection = await connectClient(values, 'k8ts-trace')
    if (values.scheduling)
      return await printDecision({ ...connection, name: given.name, terminal, output: values.output })
    const trace = await readTrace(connection, { ...given, ...values }, terminal)
    if (trace === undefined) {
      const revision = values['at-revision']
      const what = revision === undefined ? 'no change' : `no change with revision ${revision}`
      terminal.writeError(
        `${what} of ${escapeControlCharacters(`${given.kind} ${given.name}`)} is recorded\n`,
      )
      return 1
    }
    if (values.output !== undefined)
      terminal.write(values.output === 'json' ? traceJson(trace) : otlpJson(trace))
    else if (!values.follow) terminal.write(formatTrace(trace, { isComplete: values.all ?? false }))
    if (values.why) terminal.write(`\n${await diagnosis(connection, given)}`)
    if (collector !== undefined) await postTraces(collector, otlpTraces(trace))
    return 0
  },
}

interface TraceFlags {
  readonly 'all'?: boolean
  readonly 'at-revision'?: number
  readonly 'follow'?: boolean
  readonly 'output'?: 'json' | 'otlp'
  readonly 'scheduling'?: boolean
  readonly 'why'?: boolean
}

function requireCompatible({ kind }: ObjectWords, { output, follow, scheduling, why }: TraceFlags): void {
  const isPod = ['pod', 'pods', 'po'].includes(kind.toLowerCase())
  if (scheduling && !isPod) throw new UsageError('--scheduling requires a pod')
  if (scheduling && output === 'otlp') throw new UsageError('--scheduling has no output otlp')
  if (output !== undefined && (why || follow)) throw new UsageError('--output excludes --why and --follow')
}

async function readTrace(
  { client, namespace, clock }: ClientConnection,
  { kind, name, ...values }: ObjectWords & TraceFlags,
  terminal: Terminal,
): Promise<Trace | undefined> {
  const resource = await requireResource(client, kind)
  const object = { resource, name, ...(resource.scope === 'Namespaced' && { namespace }) }
  const options = { atRevision: values['at-revision'], isComplete: values.all }
  if (!values.follow) return collectTrace(client, object, options)
  let trace: Trace | undefined
  const printer = new HopPrinter()
  const onTrace = (latest: Trace): void => {
    trace = latest
    terminal.write(printer.next(latest))
  }
  const onWait = (unsettled: readonly string[]): void => terminal.write(printer.waiting(unsettled))
  await followTrace(client, object, { ...options, clock, onTrace, onWait, quietMs: followQuietMs })
  terminal.write(printer.end())
  return trace
}

const followQuietMs = 60_000

function otlpJson(trace: Trace): string {
  return `${JSON.stringify(otlpTraces(trace), null, 2)}\n`
}

async function diagnosis(
  { client, namespace, clock }: ClientConnection,
  target: ObjectWords,
): Promise<string> {
  try {
    return formatDiagnosis(await explain(client, { ...target, namespace }, { clock }))
  } catch (error) {
    if (isApiError(error, 'Forbidden')) return 'its state may not be read\n'
    throw error
  }
}

interface DecisionRequest {
  readonly client: Client
  readonly namespace: string
  readonly name: string
  readonly terminal: Terminal
  readonly output: string | undefined
}

/** Prints the last scheduling decision for a pod. Returns the exit code. */
async function printDecision({
  client,
  namespace,
  name,
  terminal,
  output,
}: DecisionRequest): Promise<number> {
  const path = `/debug/scheduling/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`
  try {
    const response = await client.raw({ method: 'GET', path })
    const decision = (await response.value()) as PodDecision
    const text = output === 'json' ? JSON.stringify(decision, null, 2) : formatDecision(decision).trimEnd()
    terminal.write(`${text.split('\n').map(escapeControlCharacters).join('\n')}\n`)
    return 0
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
    const pod = escapeControlCharacters(`${namespace}/${name}`)
    terminal.writeError(`no scheduling decision is kept for pod ${pod}\n`)
    return 1
  }
}
