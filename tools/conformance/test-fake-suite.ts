/**
 * Behaves as an `e2e.test` of three tests does, as far as a run can tell: flags, output, JSON report,
 * interrupts. One test asks a real API server for its version, one fails, one waits until it is interrupted.
 */
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { parseArgs } from 'node:util'

/** Listened for before anything is printed that the reader could answer with an interrupt. */
const interrupted = once(process, 'SIGINT')
const { values } = parseArgs({ strict: false, allowPositionals: true })
const flag = (name: string): string => String(values[name] ?? '')

interface Spec {
  readonly name: string
  readonly isSerial: boolean
  readonly run: () => Promise<string | undefined>
}

const specs: readonly Spec[] = [
  { name: '[sig-api-machinery] Version answers [Conformance]', isSerial: false, run: askVersion },
  { name: '[sig-apps] Job fails [Conformance]', isSerial: false, run: async () => 'no <job>' },
  { name: '[sig-node] Taint waits [Serial] [Conformance]', isSerial: true, run: waitForInterrupt },
]

if (values['version']) console.log('v1.36.4')
else await runSuite()

async function runSuite(): Promise<void> {
  const wantsSerial = !flag('ginkgo.label-filter').includes('!Serial')
  const focus = new RegExp(flag('ginkgo.focus'))
  const chosen = specs.filter(({ name, isSerial }) => isSerial === wantsSerial && focus.test(name))
  const isDryRun = flag('ginkgo.dry-run') === 'true'
  const reports = []
  for (const { name, run } of chosen) {
    if (!isDryRun) console.log(`------------------------------\n${name} [Conformance]`)
    const message = isDryRun ? undefined : await run()
    const state =
      message === undefined ? 'passed' : message.startsWith('Interrupted') ? 'interrupted' : 'failed'
    const word = state === 'passed' ? '' : `[${state.toUpperCase()}] `
    if (!isDryRun) console.log(`• ${word}[0.250 seconds]`)
    reports.push({
      ContainerHierarchyTexts: [],
      LeafNodeType: 'It',
      LeafNodeText: name,
      State: state,
      RunTime: 250_000_000,
      Failure: { Message: message ?? '' },
    })
  }
  writeFileSync(flag('ginkgo.json-report'), JSON.stringify([{ SpecReports: reports }]))
  process.exitCode = reports.every(({ State }) => State === 'passed') ? 0 : 1
}

async function askVersion(): Promise<string | undefined> {
  const kubeconfig = readFileSync(flag('kubeconfig'), 'utf8')
  const url = /server: (\S+)/.exec(kubeconfig)?.[1] ?? ''
  return new Promise((resolve, reject) => {
    const asked = request(new URL('/version', url), { rejectUnauthorized: false }, response => {
      response.resume()
      resolve(response.statusCode === 200 ? undefined : `status ${response.statusCode}`)
    })
    asked.once('error', reject)
    asked.end()
  })
}

async function waitForInterrupt(): Promise<string> {
  const timer = setInterval(() => undefined, 1_000)
  await interrupted
  clearInterval(timer)
  return 'Interrupted by User'
}
