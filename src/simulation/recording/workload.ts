/** Reads and writes at random, but from a seed, that record themselves. */
import type { SeededRandom } from '#/base/seeded-random.ts'
import type { Clock } from '#/platform/platform.ts'
import type { HistoryRecorder, Listing, Verb } from '../history/history.ts'
import { keyOfNumber } from './config-maps.ts'
import type { ListRequest, ObjectClient, ObjectRequest } from './object-client.ts'

export interface WorkloadOptions {
  readonly name: string
  readonly client: ObjectClient
  readonly recorder: HistoryRecorder
  readonly clock: Clock
  readonly random: SeededRandom
  /** The number of objects, which all clients share. */
  readonly keyCount: number
  /** Average pause between two requests. */
  readonly pauseMs: number
}

/** Resolves when the last request before the abort has returned. */
export async function runWorkload(options: WorkloadOptions, signal: AbortSignal): Promise<void> {
  const { name, random, clock, pauseMs } = options
  const client = new RecordingClient(options)
  for (let number = 0; !signal.aborted; number++) {
    const isAnswered = isDrawn(random, listShare)
      ? await client.list(drawList(random, client.lastRevision), drawTimeoutMs(random))
      : await client.perform(
          drawRequest({ ...options, value: `${name}-${number}` }, client),
          drawTimeoutMs(random),
        )
    await clock.sleep(isAnswered ? random.fraction() * 2 * pauseMs : retryPauseMs)
  }
}

/** Performs and records. It remembers the last revision of each object that it has seen. */
export class RecordingClient {
  readonly #options: Pick<WorkloadOptions, 'name' | 'client' | 'recorder'>
  readonly #revisions = new Map<string, number>()
  #lastRevision = 0

  constructor(options: Pick<WorkloadOptions, 'name' | 'client' | 'recorder'>) {
    this.#options = options
  }

  get lastRevision(): number {
    return this.#lastRevision
  }

  revisionOf(key: string): number | undefined {
    return this.#revisions.get(key)
  }

  /** False if the server has not answered. */
  async perform(request: ObjectRequest, timeoutMs: number): Promise<boolean> {
    const { name, client, recorder } = this.#options
    const { key } = request
    const callMs = recorder.nowMs()
    if (request.verb !== 'get') recorder.write({ type: 'call', client: name, ...request, callMs })
    const outcome = await client.perform(request, timeoutMs)
    const returnMs = recorder.nowMs()
    recorder.write({ type: 'operation', client: name, ...request, callMs, returnMs, outcome })
    if (outcome.type === 'ok' && outcome.version !== undefined) {
      this.#revisions.set(key, outcome.version.revision)
      this.#lastRevision = Math.max(this.#lastRevision, outcome.version.revision)
    } else if (outcome.type === 'failed' ? outcome.reason === 'NotFound' : request.verb === 'delete') {
      this.#revisions.delete(key)
    }
    return outcome.type === 'ok' || (outcome.type === 'failed' && outcome.reason !== 'Rejected')
  }

  /** False if the server has not answered. */
  async list(request: ListRequest, timeoutMs: number): Promise<boolean> {
    const { name, client, recorder } = this.#options
    const callMs = recorder.nowMs()
    const result = await client.list(request, timeoutMs)
    if (result === undefined) return false
    const returnMs = recorder.nowMs()
    if (result === 'expired') {
      recorder.write({ type: 'expired-list', client: name, callMs, returnMs })
      // As Kubernetes' pager does: all at once, at the newest revision.
      return this.list({ match: 'consistent' }, timeoutMs)
    }
    const { match, requestedRevision } = request
    const requested = requestedRevision === undefined ? {} : { requestedRevision }
    recorder.write({ type: 'list', client: name, callMs, returnMs, match, ...requested, ...result })
    for (const [key, { revision }] of Object.entries(result.objects)) this.#revisions.set(key, revision)
    this.#lastRevision = Math.max(this.#lastRevision, result.revision)
    return true
  }
}

const listShare = 0.08

/** Pause after a request that was not answered. */
const retryPauseMs = 100

/** Some requests outlive a pause of the server, others are given up. */
function drawTimeoutMs(random: SeededRandom): number {
  return 500 + random.integer(5_500)
}

function isDrawn(random: SeededRandom, share: number): boolean {
  return random.fraction() < share
}

function drawList(random: SeededRandom, lastRevision: number): ListRequest {
  const matches: readonly Listing['match'][] = ['consistent', 'consistent', 'any', 'not-older-than', 'exact']
  const drawn = matches[random.integer(matches.length)]!
  const limit = isDrawn(random, 0.3) ? drawPages(random) : {}
  const needsRevision = drawn === 'not-older-than' || drawn === 'exact'
  if (!needsRevision) return { match: drawn, ...limit }
  if (lastRevision === 0) return { match: 'consistent', ...limit }
  const requestedRevision =
    drawn === 'exact' ? Math.max(1, lastRevision - random.integer(exactAgeMax)) : lastRevision
  return { match: drawn, requestedRevision, ...limit }
}

/** Revisions before the last one that is known: some of them are compacted. */
const exactAgeMax = 300

/** Some clients need so long for a page that the revision of the list is compacted. */
function drawPages(random: SeededRandom): Pick<ListRequest, 'limit' | 'pagePauseMs'> {
  return {
    limit: 1 + random.integer(5),
    pagePauseMs: isDrawn(random, 0.2) ? random.integer(pagePauseMsMax) : 0,
  }
}

const pagePauseMsMax = 2_000

type DrawOptions = Pick<WorkloadOptions, 'random' | 'keyCount'> & { readonly value: string }

function drawRequest({ random, keyCount, value: name }: DrawOptions, client: RecordingClient): ObjectRequest {
  const key = keyOfNumber(random.integer(keyCount))
  const revision = client.revisionOf(key)
  const verb = drawVerb(random, revision !== undefined)
  const value = `${name}-${drawSize(random)}`
  switch (verb) {
    case 'get':
      return { verb, key, ...(isDrawn(random, 0.1) && { isStale: true as const }) }
    case 'create':
    case 'apply':
      return { verb, key, value }
    case 'update':
    case 'patch':
    case 'delete': {
      const hasPrecondition = revision !== undefined && isDrawn(random, 0.7)
      return {
        verb,
        key,
        ...(verb !== 'delete' && { value }),
        ...(hasPrecondition && { expectedRevision: revision }),
      }
    }
  }
}

/** Mostly what can succeed, as far as the client knows. */
function drawVerb(random: SeededRandom, exists: boolean): Verb {
  const blind = ['create', 'update', 'patch', 'delete'] as const
  if (isDrawn(random, 0.1)) return blind[random.integer(blind.length)]!
  if (isDrawn(random, 0.3)) return 'get'
  if (!exists) return isDrawn(random, 0.7) ? 'create' : 'apply'
  const draw = random.fraction()
  return draw < 0.45 ? 'update' : draw < 0.65 ? 'patch' : draw < 0.8 ? 'apply' : 'delete'
}

/** Most values are small; some need several pages of a database. */
function drawSize(random: SeededRandom): number {
  return isDrawn(random, 0.05) ? random.integer(30_000) : random.integer(300)
}
