import type { Log, Platform } from '#/platform/platform.ts'
import { zoneOf, type LogClass, type LogSettings } from '../dns-configuration.ts'
import {
  emptyResponse,
  internetClass,
  recordTypes,
  responseCodes,
  type DnsMessage,
  type Question,
  type ResourceRecord,
} from '../dns-message.ts'
import { responseCodeLabel, typeLabel } from '../dns-metrics.ts'
import type { NameServer, ZoneServer } from './name-server.ts'
import type { Transport } from './exchange.ts'
import { udpBytesMax } from './forwarder.ts'
import { resolveQuestion, rewriteName, type AnsweringPlugin } from './resolve-question.ts'

export interface AnswerOptions {
  readonly platform: Pick<Platform, 'log' | 'random'>
  /** Undefined until the configuration is known. */
  readonly server: NameServer | undefined
  readonly transport: Transport
  /** Address of the client. */
  readonly client: string
  readonly signal: AbortSignal
}

export interface AnsweredMessage {
  readonly message: DnsMessage
  readonly plugin: AnsweringPlugin | 'forward' | ''
  /** Of the server block, with the dot at the end. */
  readonly zone: string
  /**
   * How long the same query has the same answer: until the state of the cluster changes, and not longer than this time
   * if it is given, with TTLs that decrease.
   */
  readonly reuse?: { readonly freshUntilMs?: number }
}

/** Maximum length of a CNAME chain. */
const aliasesMax = 8

/** Undefined if the message is a response. */
export async function answerQuery(
  query: DnsMessage,
  options: AnswerOptions,
): Promise<AnsweredMessage | undefined> {
  if (query.isResponse) return undefined
  const { id, opcode, recursionDesired, checkingDisabled, questions, edns } = query
  const base: DnsMessage = {
    ...emptyResponse,
    id,
    opcode,
    recursionDesired,
    checkingDisabled,
    questions: questions.slice(0, 1),
    ...(edns && { edns: { udpBytesMax, version: 0, dnssecOk: edns.dnssecOk } }),
  }
  const [question] = questions
  const refused = (responseCode: number): AnsweredMessage => {
    return { message: { ...base, responseCode }, plugin: '', zone: '.' }
  }
  const refusal = refusalOf(query)
  if (refusal !== undefined || question === undefined) return refused(refusal ?? responseCodes.formErr)
  const { server } = options
  if (server === undefined) return refused(responseCodes.servFail)
  const zoneServer = server.zoneServerOf(question.name)
  if (zoneServer === undefined) return refused(responseCodes.refused)
  const { message, ...answered } = await answerRewritten(query, question, { ...options, server, zoneServer })
  const answer = { message: { ...base, ...message }, ...answered, zone: `${zoneServer.block.zone}.` }
  const { log } = zoneServer.block
  if (!log || zoneOf(question.name.toLowerCase(), log.zones) === undefined) return answer
  logQuery(question, { ...options, ...answer, settings: log, log: options.platform.log })
  // So that each query is logged.
  const { reuse: _, ...logged } = answer
  return logged
}

type Answer = Pick<AnsweredMessage, 'plugin' | 'reuse'> & { readonly message: Partial<DnsMessage> }

interface KnownServer extends AnswerOptions {
  readonly server: NameServer
  readonly zoneServer: ZoneServer
}

function refusalOf({ opcode, questions, edns }: DnsMessage): number | undefined {
  const [question] = questions
  if (opcode !== 0) return responseCodes.notImplemented
  if (questions.length !== 1 || question === undefined) return responseCodes.formErr
  if (edns && edns.version > 0) return responseCodes.badVersion
  const isTransfer = question.type === recordTypes.AXFR || question.type === recordTypes.IXFR
  return isTransfer || question.class !== internetClass ? responseCodes.refused : undefined
}

/** The names in answers are those of the question, as the client has written them. */
async function answerRewritten(query: DnsMessage, question: Question, options: KnownServer): Promise<Answer> {
  const name = rewriteName(question.name, options.zoneServer.block.rewrites)
  const answer = await answerQuestion(query, { ...question, name }, options)
  const asked = name.toLowerCase()
  const answers = answer.message.answers?.map(record => {
    const isOther = record.name === question.name || record.name.toLowerCase() !== asked
    return isOther ? record : { ...record, name: question.name }
  })
  return { ...answer, message: { ...answer.message, ...(answers && { answers }) } }
}

async function answerQuestion(query: DnsMessage, question: Question, options: KnownServer): Promise<Answer> {
  const { server, platform } = options
  const aliases: ResourceRecord[] = []
  let asked = question
  let zoneServer: ZoneServer | undefined = options.zoneServer
  for (let count = 0; count < aliasesMax && zoneServer !== undefined; count++) {
    const outcome = resolveQuestion(asked, zoneServer)
    if (outcome.is === 'failure') break
    if (outcome.is === 'forward') {
      const forwarded = { asked, aliases, forwarder: zoneServer.forwarderOf(outcome.settings) }
      return forward(query, forwarded, options)
    }
    if (outcome.is === 'answer') {
      const { plugin, is: _, answers, ...rest } = outcome
      const all = [...aliases, ...rotated(answers, platform.random)]
      return { message: { isAuthoritative: true, ...rest, answers: all }, plugin, reuse: {} }
    }
    aliases.push(outcome.answer)
    asked = { ...question, name: outcome.target }
    zoneServer = server.zoneServerOf(asked.name)
  }
  return { message: { responseCode: responseCodes.servFail, answers: aliases }, plugin: '' }
}

interface Forwarded {
  readonly asked: Question
  readonly aliases: readonly ResourceRecord[]
  readonly forwarder: ReturnType<ZoneServer['forwarderOf']>
}

async function forward(
  { edns, checkingDisabled }: DnsMessage,
  { asked, aliases, forwarder }: Forwarded,
  { transport, client, signal }: AnswerOptions,
): Promise<Answer> {
  const dnssecOk = edns?.dnssecOk ?? false
  const query = { question: asked, transport, dnssecOk, checkingDisabled, client }
  const forwarded = await forwarder.forward(query, signal)
  const plugin = 'forward'
  if (forwarded === undefined)
    return { message: { responseCode: responseCodes.servFail, answers: aliases }, plugin }
  const { answer, freshUntilMs } = forwarded
  const message = {
    responseCode: answer.responseCode,
    isTruncated: answer.isTruncated,
    authenticData: answer.authenticData,
    answers: [...aliases, ...answer.answers],
    authorities: answer.authorities,
    additionals: answer.additionals,
  }
  return { message, plugin, ...(freshUntilMs !== undefined && { reuse: { freshUntilMs } }) }
}

/** Most clients use the first address: a random order spreads the load. */
function rotated(
  records: readonly ResourceRecord[],
  random: AnswerOptions['platform']['random'],
): readonly ResourceRecord[] {
  if (records.length < 2) return records
  const start = random.integer('dns order', records.length)
  return [...records.slice(start), ...records.slice(0, start)]
}

interface LoggedQuery {
  readonly settings: LogSettings
  readonly log: Log
  readonly message: DnsMessage
  readonly transport: string
  readonly client: string
}

/** The plugin `log`. */
function logQuery(
  { name, type }: Question,
  { settings, log, message, transport, client }: LoggedQuery,
): void {
  if (!settings.classes.some(each => each === 'all' || each === classOf(message))) return
  const rcode = responseCodeLabel(message.responseCode)
  log.info('DNS query', { client, transport, type: typeLabel(type), name, rcode })
}

function classOf({ responseCode, answers }: DnsMessage): LogClass {
  if (responseCode === responseCodes.nxDomain) return 'denial'
  if (responseCode !== responseCodes.noError) return 'error'
  return answers.length > 0 ? 'success' : 'denial'
}
