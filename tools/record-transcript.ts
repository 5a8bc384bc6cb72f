/**
 * Fills a transcript of kubectl with the output of a real kubectl, run against a cluster of this tree:
 * `KUBECTL=/opt/kubectl node tools/record-transcript.ts FILE...`. Output that still matches is kept as it is, with its
 * masks. With `--check` nothing is written: it runs the kubectl of this tree, or `KUBECTL`, and prints what differs.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { ChildCluster } from '../tests/clients/cluster.ts'
import { ownKubectl, Session, upstreamKubectl } from '../tests/clients/kubectl/session.ts'
import {
  firstDifference,
  parseTranscript,
  transcriptSettings,
  type Step,
} from '../tests/clients/kubectl/transcript.ts'

const eventuallyMs = 20_000

const parameters = process.argv.slice(2)
const isCheck = parameters.includes('--check')
const files = parameters.filter(each => !each.startsWith('--'))
if (files.length === 0) throw new Error('usage: node tools/record-transcript.ts [--check] FILE...')
const kubectl = isCheck ? (process.env.KUBECTL ?? ownKubectl) : upstreamKubectl
for (const file of files) await record(file)

async function record(file: string): Promise<void> {
  const text = await readFile(file, 'utf8')
  const { hasSimulatedNodes } = transcriptSettings(text)
  await using cluster = await ChildCluster.start(hasSimulatedNodes ? { simulatedNodes: 3 } : {})
  await using session = await Session.start({ cluster, namespace: basename(file, '.txt'), kubectl })
  const outputs = new Map<number, string>()
  let differences = 0
  for (const step of parseTranscript(text)) {
    const printed = await runStep(session, step)
    const difference = firstDifference(step, printed)
    if (difference === undefined) continue
    differences++
    if (isCheck) console.log(`${file}:${step.line}: ${step.command}\n  ${difference}\n${indented(printed)}\n`)
    else outputs.set(step.line, mask(printed))
  }
  if (isCheck) console.log(`${file}: ${differences} differences in ${parseTranscript(text).length} commands`)
  else await writeFile(file, withOutputs(text, outputs))
}

async function runStep(session: Session, step: Step): Promise<string> {
  const untilMs = performance.now() + (step.isEventual && step.expected.length > 0 ? eventuallyMs : 0)
  for (;;) {
    const printed = await session.run(step.command)
    if (performance.now() >= untilMs || firstDifference(step, printed) === undefined) return printed
  }
}

/** Replaces what differs from run to run. */
function mask(printed: string): string {
  return stripVTControlCharacters(printed)
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '...')
    .replaceAll(/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/g, '...')
    .replaceAll(/(?<="?resourceVersion"?: ")\d+(?=")/g, '...')
    .replaceAll(/(?<=\s)(?:\d+[smhdy])+(?= |$)/gm, '...')
    .replaceAll(/\b10\.96\.\d+\.\d+\b/g, '...')
}

/** The text with the output of the commands at these lines. */
function withOutputs(text: string, outputs: ReadonlyMap<number, string>): string {
  const result: string[] = []
  let isReplaced = false
  let pending: string | undefined
  const finish = (): void => {
    if (pending !== undefined) result.push(...pending.split('\n').filter(line => line.trim() !== ''))
    pending = undefined
  }
  for (const [index, line] of text.split('\n').entries()) {
    const isOutput = !/^(?:\$ |# |>)/.test(line)
    if (!line.startsWith('>') && !(isOutput && isReplaced)) finish()
    if (line.startsWith('$ ')) {
      pending = outputs.get(index + 1)
      isReplaced = pending !== undefined
      result.push(line)
    } else if (!isOutput || !isReplaced || line === '') result.push(line)
  }
  finish()
  return `${result.join('\n').trimEnd()}\n`
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '    | ')
}
