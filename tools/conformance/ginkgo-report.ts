/** Reads the JSON report that Ginkgo writes at the end of a suite. */
import { sigOf, type TestResult, type TestState } from './results.ts'

/** The fields that are read here; there are many more. */
interface GinkgoSuite {
  readonly SpecReports?: readonly GinkgoSpec[] | null
}

interface GinkgoSpec {
  readonly ContainerHierarchyTexts?: readonly string[] | null
  readonly LeafNodeType: string
  readonly LeafNodeText: string
  readonly State: string
  /** Nanoseconds. */
  readonly RunTime?: number
  readonly Failure?: { readonly Message?: string; readonly ForwardedPanic?: string }
  readonly CapturedGinkgoWriterOutput?: string
  readonly CapturedStdOutErr?: string
}

/** Every test that was chosen, and everything else that failed. Throws SyntaxError for half a report. */
export function readGinkgoReport(text: string): readonly TestResult[] {
  const suites = JSON.parse(text) as readonly GinkgoSuite[]
  return suites.flatMap(({ SpecReports }) => (SpecReports ?? []).flatMap(readSpec))
}

/**
 * Tests that were filtered out are reported as skipped, without a reason, and so are those that had not begun
 * when the suite was interrupted: both are left out here.
 */
function readSpec(spec: GinkgoSpec): TestResult[] {
  const state = states[spec.State] ?? 'failed'
  const isTest = spec.LeafNodeType === 'It'
  const message = messageOf(spec)
  if (state === 'skipped' && message === undefined) return []
  if (!isTest && (state === 'passed' || state === 'skipped')) return []
  const name = nameOf(spec)
  const seconds = Math.round((spec.RunTime ?? 0) / 1e6) / 1_000
  const result = { name, sig: isTest ? sigOf(name) : 'suite', seconds }
  if (state === 'passed' && hasNoDefinition(spec)) {
    return [{ ...result, state: 'failed', message: earlyReturn }]
  }
  return [{ ...result, state, ...(message !== undefined && { message }) }]
}

const states: Readonly<Record<string, TestState>> = {
  passed: 'passed',
  failed: 'failed',
  panicked: 'failed',
  timedout: 'failed',
  aborted: 'failed',
  skipped: 'skipped',
  pending: 'skipped',
  interrupted: 'interrupted',
}

function nameOf({ ContainerHierarchyTexts, LeafNodeText, LeafNodeType }: GinkgoSpec): string {
  const texts = [...(ContainerHierarchyTexts ?? []), LeafNodeText].filter(text => text !== '')
  return texts.length === 0 ? `[${LeafNodeType}]` : texts.join(' ')
}

function messageOf({ Failure }: GinkgoSpec): string | undefined {
  const parts = [Failure?.Message, Failure?.ForwardedPanic].filter(part => part !== undefined && part !== '')
  return parts.length === 0 ? undefined : parts.join('\n').slice(0, messageCharactersMax)
}

/** Some messages carry whole objects. */
const messageCharactersMax = 8_000

/** Tests of custom resources return early when their definition is not established, and count as passed. */
function hasNoDefinition({ CapturedGinkgoWriterOutput = '', CapturedStdOutErr = '' }: GinkgoSpec): boolean {
  const pattern = /failed to create CustomResourceDefinition|error while creating CustomResourceDefinition/i
  return pattern.test(CapturedGinkgoWriterOutput) || pattern.test(CapturedStdOutErr)
}

const earlyReturn =
  'failed to create CustomResourceDefinition: the test returned early, asserted nothing, and counts as passed'
