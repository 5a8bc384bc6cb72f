/** Builds the environment of a container. Later definitions of a name override earlier ones. */
import type { Container, EnvFromSource, EnvVarSource } from '#/api/generated/core/v1.ts'
import { quote } from '#/api/text/quote.ts'
import type { ContainerInput, ContainerSources } from '../container-input.ts'
import { expandVariables } from '../expand-variables.ts'
import { podFieldValue, resourceFieldValue } from '../downward-value.ts'
import { sortAddresses } from '../sort-addresses.ts'
import { environmentFileValue } from './environment-file.ts'
import { serviceVariables } from './service-variables.ts'

/** In order of declaration; service variables come last. */
export type Environment = ReadonlyMap<string, string>

export type EnvironmentInput = Pick<
  ContainerInput,
  'pod' | 'container' | 'podAddresses' | 'services' | 'volumes' | 'sources' | 'node' | 'machine'
>

/** Throws an Error with Kubernetes' message if a required source is missing. */
export async function environmentOf(input: EnvironmentInput): Promise<Environment> {
  const { pod, container, services } = input
  const ofServices = serviceVariables(pod, services)
  const variables = new Map<string, string>()
  for (const source of container.envFrom ?? []) {
    for (const [name, value] of await variablesFrom(source, input.sources)) variables.set(name, value)
  }
  const known = (name: string): string | undefined => variables.get(name) ?? ofServices.get(name)
  for (const { name, value = '', valueFrom } of container.env ?? []) {
    const found = value !== '' || !valueFrom ? expandVariables(value, known) : await valueOf(valueFrom, input)
    if (found !== undefined) variables.set(name, found)
  }
  for (const [name, value] of ofServices) if (!variables.has(name)) variables.set(name, value)
  return variables
}

/** Command and arguments with variables expanded. */
export function expandCommand(
  { command = [], args = [] }: Container,
  environment: Environment,
): { readonly command: readonly string[]; readonly args: readonly string[] } {
  const expand = (text: string): string => expandVariables(text, name => environment.get(name))
  return { command: command.map(expand), args: args.map(expand) }
}

async function variablesFrom(
  { configMapRef, secretRef, prefix = '' }: EnvFromSource,
  sources: ContainerSources,
): Promise<readonly (readonly [string, string])[]> {
  if (configMapRef) {
    const data = (await configMapData(configMapRef, sources)) ?? {}
    return Object.entries(data).map(([key, value]) => [prefix + key, value])
  }
  if (secretRef) {
    const data = (await secretData(secretRef, sources)) ?? {}
    return Object.entries(data).map(([key, value]) => [prefix + key, decoded(value)])
  }
  return []
}

/** Undefined if the source is optional and missing. */
async function valueOf(from: EnvVarSource, input: EnvironmentInput): Promise<string | undefined> {
  const { pod, container, podAddresses, node, machine, sources } = input
  const namespace = pod.metadata.namespace
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = from
  if (fieldRef) {
    const { addresses: hostAddresses } = node
    const sorted = sortAddresses(podAddresses, hostAddresses)
    return podFieldValue(pod, fieldRef.fieldPath, { podAddresses: sorted, hostAddresses })
  }
  if (resourceFieldRef) {
    return resourceFieldValue(pod, resourceFieldRef, { container, allocatable: machine.allocatable })
  }
  if (configMapKeyRef) {
    const { name = '', key, optional } = configMapKeyRef
    const data = await configMapData(configMapKeyRef, sources)
    const value = data?.[key]
    if (value !== undefined || optional) return value
    throw new Error(`couldn't find key ${key} in ConfigMap ${namespace}/${name}`)
  }
  if (secretKeyRef) {
    const { name = '', key, optional } = secretKeyRef
    const data = await secretData(secretKeyRef, sources)
    const value = data?.[key]
    if (value !== undefined) return decoded(value)
    if (optional) return undefined
    throw new Error(`couldn't find key ${key} in Secret ${namespace}/${name}`)
  }
  return fileKeyRef ? fileValue(fileKeyRef, input) : ''
}

interface ObjectReference {
  readonly name?: string
  readonly optional?: boolean
}

async function configMapData(
  { name = '', optional }: ObjectReference,
  sources: ContainerSources,
): Promise<Readonly<Record<string, string>> | undefined> {
  const found = await sources.configMap(name)
  if (found === undefined && !optional) throw new Error(`configmap ${quote(name)} not found`)
  return found && (found.data ?? {})
}

async function secretData(
  { name = '', optional }: ObjectReference,
  sources: ContainerSources,
): Promise<Readonly<Record<string, string>> | undefined> {
  const found = await sources.secret(name)
  if (found === undefined && !optional) throw new Error(`secret ${quote(name)} not found`)
  return found && (found.data ?? {})
}

async function fileValue(
  { volumeName, path, key, optional }: NonNullable<EnvVarSource['fileKeyRef']>,
  { volumes, sources }: EnvironmentInput,
): Promise<string | undefined> {
  const volume = volumes.get(volumeName)
  if (volume === undefined) {
    throw new Error(`cannot find the volume ${quote(volumeName)} referenced by FileKeyRef`)
  }
  let value: string
  try {
    const text = await sources.file(volume, path)
    if (text === undefined) throw new Error(`file ${path} not found in volume ${volumeName}`)
    value = environmentFileValue(text, key)
  } catch (error) {
    // The parse error is not shown, because it could reveal the file's content.
    throw new Error("couldn't parse env file", { cause: error })
  }
  if (value !== '') return value
  if (optional) return undefined
  throw new Error(
    `environment variable key ${quote(key)} not found in file ${quote(`${volume.hostPath}/${path}`)}`,
  )
}

function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString()
}
