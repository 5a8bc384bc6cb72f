/**
 * The extender wire format. Field names are capitalized; responses may use any case, since Go's decoder
 * ignores it.
 */
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { PreemptionCandidate } from '../framework.ts'
import type { NodeInfo } from '../node-info.ts'
import type { PodInfo } from '../pod-info.ts'

/** The response to a filter call: feasible nodes and failure reasons of the rest. */
export interface ExtenderFilterResult {
  /** Undefined if the response has no node list. */
  readonly names: readonly string[] | undefined
  readonly failed: ReadonlyMap<string, string>
  readonly failedAndUnresolvable: ReadonlyMap<string, string>
  readonly error: string
}

/** Victim uids by node. */
export type ExtenderPreemptionResult = ReadonlyMap<
  string,
  { readonly uids: readonly string[]; readonly pdbViolations: number }
>

/** An extender with a node cache receives only names. */
export function nodesMessage(
  { pod }: PodInfo,
  nodes: readonly NodeInfo[],
  form: 'names' | 'objects',
): string {
  const head = `{"Pod":${jsonOf(pod)}`
  if (form === 'names') {
    return `${head},"Nodes":null,"NodeNames":${JSON.stringify(nodes.map(({ name }) => name))}}`
  }
  const items = nodes.map(({ node }) => jsonOf(node)).join()
  return `${head},"Nodes":{"metadata":{},"items":[${items}]},"NodeNames":null}`
}

export function preemptionMessage(
  { pod }: PodInfo,
  candidates: readonly PreemptionCandidate[],
  form: 'names' | 'objects',
): string {
  const podOf = (victim: PodInfo): string =>
    form === 'names' ? JSON.stringify({ UID: victim.uid }) : jsonOf(victim.pod)
  const victims = candidates.map(({ node, victims, pdbViolations }) => {
    const pods = victims.map(podOf).join()
    return `${JSON.stringify(node)}:{"Pods":[${pods}],"NumPDBViolations":${pdbViolations}}`
  })
  const byNode = `{${victims.join()}}`
  const [full, meta] = form === 'names' ? ['null', byNode] : [byNode, 'null']
  return `{"Pod":${jsonOf(pod)},"NodeNameToVictims":${full},"NodeNameToMetaVictims":${meta}}`
}

export function bindingMessage({ pod, namespace, uid }: PodInfo, node: string): string {
  const name = pod.metadata.name
  return JSON.stringify({ PodName: name, PodNamespace: namespace, PodUID: uid, Node: node })
}

export function readFilterResult(answer: JsonValue): ExtenderFilterResult {
  const names = field(answer, 'NodeNames')
  const items = field(field(answer, 'Nodes'), 'items')
  return {
    names: Array.isArray(names)
      ? names.map(String)
      : Array.isArray(items)
        ? items.map(node => textOf(field(field(node, 'metadata'), 'name')))
        : undefined,
    failed: textsOf(field(answer, 'FailedNodes')),
    failedAndUnresolvable: textsOf(field(answer, 'FailedAndUnresolvableNodes')),
    error: textOf(field(answer, 'Error')),
  }
}

/** Scores by node name. */
export function readScores(answer: JsonValue): ReadonlyMap<string, number> {
  if (!Array.isArray(answer)) throw new Error('scores must be a list')
  return new Map(answer.map(each => [textOf(field(each, 'Host')), numberOf(field(each, 'Score'))]))
}

export function readPreemptionResult(answer: JsonValue): ExtenderPreemptionResult {
  const byNode = field(answer, 'NodeNameToMetaVictims')
  return new Map(
    entriesOf(byNode).map(([node, victims]) => {
      const pods = field(victims, 'Pods')
      const uids = Array.isArray(pods) ? pods.map(pod => textOf(field(pod, 'UID'))) : []
      return [node, { uids, pdbViolations: numberOf(field(victims, 'NumPDBViolations')) }]
    }),
  )
}

/** The error in a response; empty if there is none. */
export function readError(answer: JsonValue): string {
  return textOf(field(answer, 'Error'))
}

/** Cache of the JSON of each object version, shared by all calls. */
const texts = new WeakMap<object, string>()

function jsonOf(object: Pod | Node): string {
  const known = texts.get(object)
  if (known !== undefined) return known
  const text = stringifyJson(object as unknown as JsonValue)
  texts.set(object, text)
  return text
}

/** The field of that name in any case; undefined if absent. */
function field(value: JsonValue | undefined, name: string): JsonValue | undefined {
  const entries = entriesOf(value)
  const exact = entries.find(([key]) => key === name)
  return (exact ?? entries.find(([key]) => key.toLowerCase() === name.toLowerCase()))?.[1]
}

function entriesOf(value: JsonValue | undefined): [string, JsonValue][] {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : []
}

function textsOf(value: JsonValue | undefined): ReadonlyMap<string, string> {
  return new Map(entriesOf(value).map(([key, text]) => [key, textOf(text)]))
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

function numberOf(value: JsonValue | undefined): number {
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : 0
}
