import { checkEnvVarName } from '#/api/names.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { quote } from '#/api/text/quote.ts'
import { containerOf, type ContainerContent } from '../create/container.ts'
import { generatedObject, sortedMap, type GeneratedResource } from '../create/generated-object.ts'
import { parseLabels } from '../create/parse-labels.ts'
import { parseResourceList } from '../create/resource-list.ts'
import { parseKeyValues } from '../key-value-arguments.ts'
import type { RunFlagValues } from './run-flags.ts'

export const pods: GeneratedResource = {
  group: '',
  version: 'v1',
  kind: 'Pod',
  plural: 'pods',
  scope: 'Namespaced',
}

export interface RunRequest {
  readonly name: string
  /** After the name. */
  readonly args: readonly string[]
  readonly flags: RunFlagValues
}

/** The labels of the pod, and of all other objects. */
export function runLabels({ name, flags }: RunRequest): Record<string, string> {
  return flags.labels ? parseLabels(flags.labels) : { run: name }
}

export function planPod(request: RunRequest): JsonObject {
  const { name, flags } = request
  const labels = runLabels(request)
  const metadata = { name, labels, annotations: parseAnnotations(flags.annotations) }
  return generatedObject(pods, {
    metadata,
    spec: planPodSpec(request, flags.restart || 'Always'),
    status: {},
  })
}

export function planPodSpec({ name, args, flags }: RunRequest, restartPolicy: string): JsonObject {
  const serviceAccountName = flags.serviceaccount ?? ''
  const container = containerOf({ name, image: flags.image ?? '', ...planContainer(args, flags) })
  return {
    containers: [container],
    restartPolicy,
    dnsPolicy: 'ClusterFirst',
    ...(serviceAccountName && { serviceAccountName }),
  }
}

function planContainer(args: readonly string[], flags: RunFlagValues): Partial<ContainerContent> {
  const { stdin = false, 'image-pull-policy': imagePullPolicy, hostport = -1 } = flags
  const env = (flags.env ?? []).map(parseEnv)
  const limits = parseResourceList(flags.limits ?? '')
  const requests = parseResourceList(flags.requests ?? '')
  if (hostport > 0 && !flags.port) throw new Error('--hostport requires --port to be specified')
  return {
    ...(flags.command ? { command: args } : { args }),
    ...(flags.port && { port: parsePort(flags.port) }),
    ...(hostport > 0 && { hostPort: hostport }),
    env,
    resources: { ...(limits && { limits }), ...(requests && { requests }) },
    ...(imagePullPolicy && { imagePullPolicy }),
    privileged: flags.privileged ?? false,
    stdin,
    stdinOnce: stdin && !flags['leave-stdin-open'],
    tty: flags.tty ?? false,
  }
}

function parsePort(text: string): number {
  if (/^[+-]?\d+$/.test(text)) return Number(text)
  throw new Error(`strconv.Atoi: parsing ${quote(text)}: invalid syntax`)
}

function parseEnv(text: string): { readonly name: string; readonly value: string } {
  const equals = text.indexOf('=')
  const name = text.slice(0, Math.max(equals, 0))
  if (equals <= 0 || checkEnvVarName(name).length > 0) throw new Error(`invalid env: ${text}`)
  return { name, value: text.slice(equals + 1) }
}

export function parseAnnotations(given: readonly string[] = []): Record<string, string> {
  const { set, removed } = parseKeyValues(given, 'annotations')
  if (removed.length > 0)
    throw new Error(`invalid annotations format: ${removed.map(key => `${key}-`).join(', ')}`)
  return sortedMap(Object.fromEntries(set))
}
