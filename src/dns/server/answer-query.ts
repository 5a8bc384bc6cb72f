import type { Random } from '#/platform/platform.ts'
import {
  emptyResponse,
  internetClass,
  recordTypes,
  responseCodes,
  type DnsMessage,
  type Question,
  type ResourceRecord,
} from '../dns-message.ts'
import { resolveName, startOfAuthority, type DnsState, type Resolution } from '../records.ts'
import type { Transport } from './exchange.ts'
import { udpBytesMax, type Forwarder } from './forwarder.ts'

export interface AnswerOptions {
  readonly state: DnsState
  /** False until the informers have synced; until then the cluster's names are answered with SERVFAIL. */
  readonly isKnown: boolean
  readonly forwarder: Pick<Forwarder, 'forward'>
  readonly random: Random
  readonly transport: Transport
  readonly signal: AbortSignal
}

/** Maximum length of a CNAME chain. */
const aliasesMax = 8

/** Undefined if the message is a response. */
export async function answerQuery(
  query: DnsMessage,
  options: AnswerOptions,
): Promise<DnsMessage | undefined> {
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
  const refusal = refusalOf(query)
  if (refusal !== undefined || question === undefined) return { ...base, responseCode: refusal ?? 1 }
  const { state, isKnown } = options
  const name = question.name.toLowerCase()
  if (
    !isKnown &&
    (name === state.domain || /(^|\.)(in-addr|ip6)\.arpa$/.test(name) || name.endsWith(`.${state.domain}`))
  ) {
    return { ...base, responseCode: responseCodes.servFail }
  }
  return { ...base, ...(await answerQuestion(query, question, options)) }
}

type Answer = Partial<DnsMessage>

function refusalOf({ opcode, questions, edns }: DnsMessage): number | undefined {
  const [question] = questions
  if (opcode !== 0) return responseCodes.notImplemented
  if (questions.length !== 1 || question === undefined) return responseCodes.formErr
  if (edns && edns.version > 0) return responseCodes.badVersion
  const isTransfer = question.type === recordTypes.AXFR || question.type === recordTypes.IXFR
  return isTransfer || question.class !== internetClass ? responseCodes.refused : undefined
}

async function answerQuestion(
  query: DnsMessage,
  question: Question,
  options: AnswerOptions,
): Promise<Answer> {
  const { state, random } = options
  const aliases: ResourceRecord[] = []
  let asked = question
  for (let count = 0; count < aliasesMax; count++) {
    const resolution = resolveName(asked, state)
    if (resolution.is === 'foreign') return forward(query, { asked, aliases }, options)
    if (resolution.is !== 'alias') return ownAnswer(resolution, aliases, { state, random })
    aliases.push(resolution.answer)
    asked = { ...question, name: resolution.target }
  }
  return { responseCode: responseCodes.servFail, answers: aliases }
}

function ownAnswer(
  resolution: Exclude<Resolution, { readonly is: 'alias' | 'foreign' }>,
  aliases: readonly ResourceRecord[],
  { state, random }: Pick<AnswerOptions, 'state' | 'random'>,
): Answer {
  if (resolution.is === 'missing') {
    const authorities = [startOfAuthority(state)]
    return { isAuthoritative: true, responseCode: responseCodes.nxDomain, answers: aliases, authorities }
  }
  const { answers, additionals = [] } = resolution
  return {
    isAuthoritative: true,
    answers: [...aliases, ...rotated(answers, random)],
    authorities: answers.length === 0 ? [startOfAuthority(state)] : [],
    additionals,
  }
}

async function forward(
  { edns, checkingDisabled }: DnsMessage,
  { asked, aliases }: { readonly asked: Question; readonly aliases: readonly ResourceRecord[] },
  { forwarder, transport, signal }: AnswerOptions,
): Promise<Answer> {
  const dnssecOk = edns?.dnssecOk ?? false
  const answer = await forwarder.forward({ question: asked, transport, dnssecOk, checkingDisabled }, signal)
  if (answer === undefined) return { responseCode: responseCodes.servFail, answers: aliases }
  return {
    responseCode: answer.responseCode,
    isTruncated: answer.isTruncated,
    authenticData: answer.authenticData,
    answers: [...aliases, ...answer.answers],
    authorities: answer.authorities,
    additionals: answer.additionals,
  }
}

/** Most clients use the first address: a random order spreads the load. */
function rotated(records: readonly ResourceRecord[], random: Random): readonly ResourceRecord[] {
  if (records.length < 2) return records
  const start = random.integer('dns order', records.length)
  return [...records.slice(start), ...records.slice(0, start)]
}
