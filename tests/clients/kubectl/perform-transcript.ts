import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Session } from './session.ts'
import {
  firstDifference,
  parseTranscript,
  transcriptSettings,
  type Step,
  type TranscriptSettings,
} from './transcript.ts'

/** Timeout for steps marked as `# eventually`. */
const eventuallyMsMax = 20_000
const repeatMs = 50

export interface Transcript {
  /** Those that the version of kubectl supports. */
  readonly steps: readonly Step[]
  readonly settings: TranscriptSettings
}

export async function readTranscript(url: URL, version: number): Promise<Transcript> {
  const text = await readFile(url, 'utf8')
  return {
    steps: parseTranscript(text).filter(({ needs }) => needs <= version),
    settings: transcriptSettings(text),
  }
}

/** Runs the steps in order, and fails at the first unexpected output. */
export async function performTranscript(
  session: Session,
  file: string,
  steps: readonly Step[],
): Promise<void> {
  for (const step of steps) await perform(session, step, file)
}

async function perform(session: Session, step: Step, file: string): Promise<void> {
  const { line, command, isEventual } = step
  const untilMs = performance.now() + (isEventual ? eventuallyMsMax : 0)
  let printed: string
  let difference: string | undefined
  while (true) {
    printed = await session.run(command)
    difference = firstDifference(step, printed)
    if (difference === undefined) return
    if (performance.now() >= untilMs) break
    await sleep(repeatMs)
  }
  assert.fail(
    `${file}:${line}: ${command}\nprints another line than expected: ${difference}\n\nall of it:\n${printed}`,
  )
}
