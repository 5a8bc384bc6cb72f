/**
 * Merges the node selector of the namespace into that of each new pod, and rejects conflicts and labels
 * outside the namespace's whitelist.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#podnodeselector
 */
import { notFound } from '#/api/errors.ts'
import type { Namespace, Pod } from '#/api/generated/core/v1.ts'
import { namespaces } from '#/api/generated/core/v1-resources.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { Labels } from '#/api/labels.ts'
import { checkLabelValue, checkQualifiedName } from '#/api/names.ts'
import { admissionForbidden, type AdmissionPlugin, type AdmissionAttributes } from '../admission-chain.ts'
import { getCached, getCachedOrStored } from '../lookup.ts'
import { mapOf, readConfiguration, struct, text, type ConfigurationType } from '../plugin-configuration.ts'
import type { PluginContext } from '../plugin-context.ts'
import { podWrites, withSpec } from './pod-spec.ts'

export function podNodeSelector(context: PluginContext, configuration?: JsonValue): AdmissionPlugin {
  const selectors = selectorsOf(configuration)
  const selectorFor = async (request: AdmissionAttributes): Promise<Labels> => {
    const { namespace: name } = request
    const namespace =
      getCached(context, namespaces, { name }) ?? (await getCachedOrStored(context, namespaces, { name }))
    if (namespace === undefined) throw notFound({ group: '', kind: 'namespaces', name })
    return parseLabels(request, annotated(namespace) ?? selectors.get(clusterDefault) ?? '')
  }
  const check = async (request: AdmissionAttributes): Promise<Labels> => {
    const wanted = (request.object as Pod).spec?.nodeSelector ?? {}
    const given = await selectorFor(request)
    if (conflict(given, wanted)) {
      throw admissionForbidden(
        request,
        'pod node label selector conflicts with its namespace node label selector',
      )
    }
    const merged = { ...given, ...wanted }
    const allowed = parseLabels(request, selectors.get(request.namespace) ?? '')
    const isWithin =
      Object.keys(allowed).length === 0 ||
      Object.entries(merged).every(([key, value]) => allowed[key] === value)
    if (!isWithin)
      throw admissionForbidden(
        request,
        'pod node label selector labels conflict with its namespace whitelist',
      )
    return merged
  }
  return {
    name: 'PodNodeSelector',
    handles: podWrites(['CREATE']),
    async mutate(request) {
      const nodeSelector = await check(request)
      return Object.keys(nodeSelector).length === 0
        ? request.object
        : withSpec(request.object as Pod, { nodeSelector })
    },
    async validate(request) {
      await check(request)
    },
  }
}

const annotation = 'scheduler.alpha.kubernetes.io/node-selector'
const clusterDefault = 'clusterDefaultNodeSelector'

function annotated({ metadata }: Namespace): string | undefined {
  return metadata.annotations?.[annotation]
}

const form: ConfigurationType<{ readonly podNodeSelectorPluginConfig?: Labels }> = {
  name: 'PodNodeSelector',
  schema: struct('PodNodeSelector', { podNodeSelectorPluginConfig: mapOf(text) }),
}

/** Configured selectors by namespace, plus `clusterDefaultNodeSelector`. */
function selectorsOf(configuration: JsonValue | undefined): ReadonlyMap<string, string> {
  if (configuration === undefined) return new Map()
  return new Map(Object.entries(readConfiguration(configuration, form).podNodeSelectorPluginConfig ?? {}))
}

function conflict(a: Labels, b: Labels): boolean {
  return Object.entries(a).some(([key, value]) => Object.hasOwn(b, key) && b[key] !== value)
}

/** Parses `env=test,region=west`; only equality, because the result becomes a pod's nodeSelector. */
function parseLabels(request: AdmissionAttributes, selector: string): Labels {
  const pairs = selector
    .split(',')
    .filter(each => each !== '')
    .map(each => {
      const [key = '', value, ...rest] = each.split('=').map(part => part.trim())
      const isPair = value !== undefined && rest.length === 0
      if (!isPair) throw admissionForbidden(request, `invalid node selector of the namespace: ${each}`)
      const [wrong] = [...checkQualifiedName(key), ...checkLabelValue(value)]
      if (wrong !== undefined)
        throw admissionForbidden(request, `invalid node selector of the namespace: ${each}: ${wrong}`)
      return [key, value] as const
    })
  return Object.fromEntries(pairs)
}
