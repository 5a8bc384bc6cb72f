import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { basename } from 'node:path'
import type { Session } from './session.ts'
import { firstDifference, parseTranscript, type Step } from './transcript.ts'

/** Timeout for steps marked as `# eventually`. */
const eventuallyMsMax = 20_000
const repeatMs = 50

/** The steps of a transcript that this version of kubectl supports. */
export async function stepsOf(transcript: URL, version: number): Promise<readonly Step[]> {
  const steps = parseTranscript(await readFile(transcript, 'utf8'))
  return steps.filter(({ needs }) => needs <= version)
}

/** Runs the steps in order, and fails at the first unexpected output. */
export async function performTranscript(
  session: Session,
  transcript: URL,
  steps: readonly Step[],
): Promise<void> {
  for (const step of steps) await perform(session, step, basename(transcript.pathname))
}

async function perform(session: Session, step: Step, file: string): Promise<void> {
  const { line, command, expected, isEventual } = step
  const untilMs = performance.now() + (isEventual ? eventuallyMsMax : 0)
  let printed: string
  let difference: string | undefined
  while (true) {
    printed = await session.run(command)
    difference = firstDifference(expected, printed)
    if (difference === undefined) return
    if (performance.now() >= untilMs) break
    await sleep(repeatMs)
  }
  assert.fail(
    `${file}:${line}: ${command}\nprints another line than expected: ${difference}\n\nall of it:\n${printed}`,
  )
}
