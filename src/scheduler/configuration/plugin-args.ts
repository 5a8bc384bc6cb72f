/** Schemas of the args of the in-tree plugins; each plugin validates the values. */
import { definition } from '#/api/definitions.ts'
import { quote } from '#/api/text/quote.ts'
import type { Schema, StructSchema } from '#/api/schema.ts'
import { boolean, ConfigurationError, integer, list, long, readPart, string, struct } from './schema.ts'

const group = 'kubescheduler.config.k8s.io'

const shape = list(struct({ utilization: integer, score: integer }))
const resources = list(struct({ name: string, weight: long }))

const schemas: ReadonlyMap<string, StructSchema> = new Map([
  argsOf('DefaultPreemption', {
    minCandidateNodesPercentage: integer,
    minCandidateNodesAbsolute: integer,
  }),
  argsOf('DynamicResources', { filterTimeout: string, bindingTimeout: string }),
  argsOf('InterPodAffinity', {
    hardPodAffinityWeight: integer,
    ignorePreferredTermsOfExistingPods: boolean,
  }),
  argsOf('NodeAffinity', { addedAffinity: definition('core.v1.NodeAffinity') }),
  argsOf('NodeResourcesBalancedAllocation', { resources }),
  argsOf('NodeResourcesFit', {
    ignoredResources: list(string),
    ignoredResourceGroups: list(string),
    scoringStrategy: struct({ type: string, resources, requestedToCapacityRatio: struct({ shape }) }),
  }),
  argsOf('PodTopologySpread', {
    defaultConstraints: list(definition('core.v1.TopologySpreadConstraint')),
    defaultingType: string,
  }),
  argsOf('VolumeBinding', { bindTimeoutSeconds: long, shape }),
])

/**
 * The args of a plugin without apiVersion and kind. Args of an unknown plugin are returned as written. Throws
 * ConfigurationError.
 */
export function readPluginArgs(
  plugin: string,
  args: unknown,
  field: string,
): Readonly<Record<string, unknown>> {
  const schema = schemas.get(plugin)
  if (schema === undefined) return asObject(args, field)
  const { apiVersion = `${group}/v1`, kind = `${plugin}Args`, ...rest } = readPart(args, schema, field)
  if (apiVersion === `${group}/v1` && kind === `${plugin}Args`) return rest
  const found = `${String(apiVersion)}, kind ${String(kind)}`
  throw new ConfigurationError(
    `${field}: args for plugin ${plugin} were not of type ${plugin}Args.${group}/v1, got ${quote(found)}`,
  )
}

function argsOf(plugin: string, fields: Readonly<Record<string, Schema>>): [string, StructSchema] {
  return [plugin, struct({ apiVersion: string, kind: string, ...fields })]
}

function asObject(args: unknown, field: string): Readonly<Record<string, unknown>> {
  if (args === undefined || args === null) return {}
  if (typeof args === 'object' && !Array.isArray(args)) return { ...args }
  throw new ConfigurationError(`${field}: must be an object`)
}
