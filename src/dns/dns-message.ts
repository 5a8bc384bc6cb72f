/**
 * Parses and serializes DNS messages (RFC 1035, 3597, 6891). Parsing takes at most linear time for any input
 * and returns a message or undefined.
 *
 * Names are text without the trailing dot, so the root is empty; case is preserved. A dot inside a label, a
 * backslash and non-printable bytes are escaped as in zone files.
 */
import { MessageReader } from './dns-message/reader.ts'
import { MessageWriter } from './dns-message/writer.ts'
import { parseLabel, splitLabels } from './dns-message/labels.ts'
import { layoutOf, mayCompress } from './dns-message/record-layouts.ts'

export interface DnsMessage {
  readonly id: number
  readonly isResponse: boolean
  readonly opcode: number
  readonly isAuthoritative: boolean
  readonly isTruncated: boolean
  readonly recursionDesired: boolean
  readonly recursionAvailable: boolean
  readonly authenticData: boolean
  readonly checkingDisabled: boolean
  readonly responseCode: number
  readonly questions: readonly Question[]
  readonly answers: readonly ResourceRecord[]
  readonly authorities: readonly ResourceRecord[]
  /** Without the OPT record. */
  readonly additionals: readonly ResourceRecord[]
  /** From the OPT record; absent when the sender does not support EDNS. */
  readonly edns?: Edns
}

export interface Question {
  readonly name: string
  readonly type: number
  readonly class: number
}

export interface ResourceRecord extends Question {
  readonly ttlSeconds: number
  /** Names, where the record type has any, and the bytes between them. */
  readonly data: readonly (string | Uint8Array)[]
}

export interface Edns {
  /** Maximum UDP payload size of the sender. */
  readonly udpBytesMax: number
  readonly version: number
  readonly dnssecOk: boolean
}

export const recordTypes = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  OPT: 41,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
} as const

export const responseCodes = {
  noError: 0,
  formErr: 1,
  servFail: 2,
  nxDomain: 3,
  notImplemented: 4,
  refused: 5,
  badVersion: 16,
} as const

export const internetClass = 1

/** Maximum message size over TCP; `plainUdpBytesMax` over UDP without EDNS. */
export const tcpBytesMax = 65_535
export const plainUdpBytesMax = 512

/** Maximum size of a query. Longer ones have no purpose but to take time. */
const queryBytesMax = 4_096

/** Maximum number of additional records of a query: those for EDNS and signatures. */
const queryAdditionalsMax = 3

/**
 * False if the bytes are no query that is answered with records, judged by their header: names of many questions could
 * refer to one long name, so that a message with them takes long to parse.
 */
export function isPlausibleQuery(bytes: Uint8Array): boolean {
  const header = readHeader(new MessageReader(bytes))
  if (header === undefined || bytes.length > queryBytesMax) return false
  const [questions = 0, answers = 0, authorities = 0, additionals = 0] = header.counts
  return questions === 1 && answers + authorities === 0 && additionals <= queryAdditionalsMax
}

/** Undefined when the bytes are not a DNS message. */
export function parseDnsMessage(bytes: Uint8Array): DnsMessage | undefined {
  const reader = new MessageReader(bytes)
  const header = readHeader(reader)
  if (header === undefined) return undefined
  const { counts, flags, id } = header
  const questions = readEach(counts[0]!, () => readQuestion(reader))
  const answers = questions && readEach(counts[1]!, () => readRecord(reader))
  const authorities = answers && readEach(counts[2]!, () => readRecord(reader))
  const others = authorities && readEach(counts[3]!, () => readRecord(reader))
  if (!questions || !answers || !authorities || !others) return undefined
  const options = others.filter(({ type }) => type === recordTypes.OPT)
  const [option] = options
  if (options.length > 1 || (option && option.name !== '')) return undefined
  return {
    id,
    ...parseFlags(flags),
    responseCode: (flags & 15) | ((option ? option.ttlSeconds >>> 24 : 0) << 4),
    questions,
    answers,
    authorities,
    additionals: others.filter(({ type }) => type !== recordTypes.OPT),
    ...(option && {
      edns: {
        udpBytesMax: option.class,
        version: (option.ttlSeconds >>> 16) & 255,
        dnssecOk: (option.ttlSeconds & 0x8000) !== 0,
      },
    }),
  }
}

/**
 * Returns at most `bytesMax` bytes. Records that do not fit are omitted from the end; the truncated flag is
 * set when answers or authorities are missing.
 */
export function serializeDnsMessage(message: DnsMessage, bytesMax: number): Uint8Array {
  const writer = new MessageWriter(bytesMax - (message.edns ? optionBytes : 0))
  writer.skip(headerBytes)
  for (const { name, type, class: class_ } of message.questions) {
    writer.name(name, true)
    writer.uint16(type)
    writer.uint16(class_)
  }
  const answers = writeRecords(writer, message.answers)
  const authorities = answers < message.answers.length ? 0 : writeRecords(writer, message.authorities)
  const isCut = answers < message.answers.length || authorities < message.authorities.length
  const additionals = isCut ? 0 : writeRecords(writer, message.additionals)
  writer.limit = bytesMax
  if (message.edns) writeEdns(writer, message.edns, message.responseCode)
  const counts = [message.questions.length, answers, authorities, additionals + (message.edns ? 1 : 0)]
  const isTruncated = message.isTruncated || isCut
  writer.header([message.id, formatFlags({ ...message, isTruncated }), ...counts])
  return writer.bytes()
}

/** True if the text is a valid name. */
export function isDnsName(name: string): boolean {
  const labels = splitLabels(name)
  const lengths = labels.map(label => parseLabel(label).length)
  const isWhole = labels.join('.') === name
  return (
    isWhole &&
    lengths.every(length => length > 0 && length < 64) &&
    lengths.reduce((a, b) => a + b + 1, 1) <= 255
  )
}

/**
 * A FORMERR response for bytes that are not a message, or NOTIMP if they are no query; undefined when they must not be
 * answered.
 */
export function formErrResponse(bytes: Uint8Array): Uint8Array | undefined {
  const header = readHeader(new MessageReader(bytes))
  if (header === undefined) return undefined
  const { isResponse, opcode, recursionDesired } = parseFlags(header.flags)
  if (isResponse) return undefined
  return serializeDnsMessage(
    {
      ...emptyResponse,
      id: header.id,
      opcode,
      recursionDesired,
      responseCode: opcode === 0 ? responseCodes.formErr : responseCodes.notImplemented,
    },
    plainUdpBytesMax,
  )
}

/** Template of a response without records. */
export const emptyResponse: DnsMessage = {
  id: 0,
  isResponse: true,
  opcode: 0,
  isAuthoritative: false,
  isTruncated: false,
  recursionDesired: false,
  recursionAvailable: true,
  authenticData: false,
  checkingDisabled: false,
  responseCode: 0,
  questions: [],
  answers: [],
  authorities: [],
  additionals: [],
}

const headerBytes = 12
const optionBytes = 11

/** The count is untrusted; reading stops at the end of the message. */
function readEach<T>(count: number, read: () => T | undefined): readonly T[] | undefined {
  const all: T[] = []
  for (let index = 0; index < count; index++) {
    const one = read()
    if (one === undefined) return undefined
    all.push(one)
  }
  return all
}

function readHeader(
  reader: MessageReader,
): { readonly id: number; readonly flags: number; readonly counts: readonly number[] } | undefined {
  const numbers = readEach(headerBytes / 2, () => reader.uint16())
  if (numbers === undefined) return undefined
  const [id = 0, flags = 0, ...counts] = numbers
  return { id, flags, counts }
}

function readQuestion(reader: MessageReader): Question | undefined {
  const name = reader.name()
  const type = reader.uint16()
  const class_ = reader.uint16()
  if (name === undefined || type === undefined || class_ === undefined) return undefined
  return { name, type, class: class_ }
}

function readRecord(reader: MessageReader): ResourceRecord | undefined {
  const question = readQuestion(reader)
  const ttlSeconds = reader.uint32()
  const length = reader.uint16()
  if (question === undefined || ttlSeconds === undefined || length === undefined) return undefined
  const data = reader.parts(length, layoutOf(question.type))
  return data && { ...question, ttlSeconds, data }
}

function writeRecords(writer: MessageWriter, records: readonly ResourceRecord[]): number {
  for (const [index, { name, type, class: class_, ttlSeconds, data }] of records.entries()) {
    const start = writer.mark()
    writer.name(name, true)
    writer.uint16(type)
    writer.uint16(class_)
    writer.uint32(ttlSeconds)
    writer.parts(data, mayCompress(type))
    if (!writer.isWithin) {
      writer.back(start)
      return index
    }
  }
  return records.length
}

function writeEdns(
  writer: MessageWriter,
  { udpBytesMax, version, dnssecOk }: Edns,
  responseCode: number,
): void {
  writer.name('', false)
  writer.uint16(recordTypes.OPT)
  writer.uint16(udpBytesMax)
  writer.uint32((((responseCode >> 4) << 24) | (version << 16) | (dnssecOk ? 0x8000 : 0)) >>> 0)
  writer.uint16(0)
}

type Flags = Pick<
  DnsMessage,
  | 'isResponse'
  | 'opcode'
  | 'isAuthoritative'
  | 'isTruncated'
  | 'recursionDesired'
  | 'recursionAvailable'
  | 'authenticData'
  | 'checkingDisabled'
>

const flagBits = {
  isResponse: 15,
  isAuthoritative: 10,
  isTruncated: 9,
  recursionDesired: 8,
  recursionAvailable: 7,
  authenticData: 5,
  checkingDisabled: 4,
} as const

function parseFlags(flags: number): Flags {
  const has = (bit: number): boolean => ((flags >> bit) & 1) === 1
  return {
    isResponse: has(flagBits.isResponse),
    opcode: (flags >> 11) & 15,
    isAuthoritative: has(flagBits.isAuthoritative),
    isTruncated: has(flagBits.isTruncated),
    recursionDesired: has(flagBits.recursionDesired),
    recursionAvailable: has(flagBits.recursionAvailable),
    authenticData: has(flagBits.authenticData),
    checkingDisabled: has(flagBits.checkingDisabled),
  }
}

function formatFlags(message: Flags & { readonly responseCode: number }): number {
  const names = Object.keys(flagBits) as (keyof typeof flagBits)[]
  const bits = names.reduce((all, name) => all | (message[name] ? 1 << flagBits[name] : 0), 0)
  return bits | (message.opcode << 11) | (message.responseCode & 15)
}
