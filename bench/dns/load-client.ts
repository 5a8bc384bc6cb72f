/**
 * Asks a DNS server over several sockets with a bounded number of queries in flight, in a process of its own:
 * `load-client.ts PORT WORKLOAD SECONDS`. Prints a JSON line with the result.
 */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { emptyResponse, plainUdpBytesMax, serializeDnsMessage } from '#/dns/dns-message.ts'
import { missingLabel, questionOf, serviceCount, workloads } from './names.ts'

export interface LoadResult {
  readonly answers: number
  /** Queries without an answer within a second. */
  readonly lost: number
  /** Answers with an error or without records. */
  readonly wrong: number
  readonly seconds: number
}

const socketCount = 8
const inFlight = 24
const lossMs = 1_000
const nameError = 3

/** Of the first label of the name. */
const labelOffset = 13

const [port, workload, duration] = [Number(process.argv[2]), process.argv[3], Number(process.argv[4])]
const asked = workloads.find(each => each === workload)!
const queries = Array.from({ length: serviceCount }, (_, index) => {
  const question = { ...questionOf(asked, index), class: 1 }
  const flags = { isResponse: false, recursionDesired: true, recursionAvailable: false }
  return serializeDnsMessage({ ...emptyResponse, ...flags, questions: [question] }, plainUdpBytesMax)
})

let [answers, lost, wrong, next] = [0, 0, 0, 0]
const startedMs = performance.now()
const endMs = startedMs + duration * 1_000
await Promise.all(Array.from({ length: socketCount }, ask))
const seconds = (performance.now() - startedMs) / 1_000
const result: LoadResult = { answers, lost, wrong, seconds }
process.stdout.write(`${JSON.stringify(result)}\n`)

/** Each query in flight has an id, by which its answer is found. */
async function ask(): Promise<void> {
  const socket = createSocket('udp4')
  socket.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const done = Promise.withResolvers<void>()
  /** Times of the queries in flight; 0 for none. */
  const sentMs = new Float64Array(inFlight)
  let pending = 0
  const send = (slot: number): void => {
    const query = queries[next++ % queries.length]!
    query[1] = slot
    if (asked === 'missing') count(query)
    sentMs[slot] = performance.now()
    pending++
    socket.send(query)
  }
  const continueWith = (slot: number): void => {
    sentMs[slot] = 0
    pending--
    if (performance.now() < endMs) send(slot)
    else if (pending === 0) done.resolve()
  }
  socket.on('message', message => {
    const slot = message[1]!
    if (slot >= inFlight || sentMs[slot] === 0) return
    answers++
    const code = message[3]! & 15
    if (asked === 'missing' ? code !== nameError : code !== 0 || message[7] === 0) wrong++
    continueWith(slot)
  })
  const timer = setInterval(() => {
    const limitMs = performance.now() - lossMs
    for (const [slot, each] of sentMs.entries()) {
      if (each === 0 || each > limitMs) continue
      lost++
      continueWith(slot)
    }
  }, 100)
  for (let slot = 0; slot < inFlight; slot++) send(slot)
  await done.promise
  clearInterval(timer)
  socket.close()
}

function count(query: Uint8Array): void {
  const digits = String(next).padStart(missingLabel.length, '0')
  for (let index = 0; index < digits.length; index++) query[labelOffset + index] = digits.charCodeAt(index)
}
