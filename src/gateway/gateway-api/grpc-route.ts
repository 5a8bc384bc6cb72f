import { defineCustomResource, type InferDefaulted } from '#/custom-resource/custom-resource.ts'
import * as s from '#/custom-resource/schema.ts'
import { ageColumn, annotations, categories, gatewayGroup, routeStatus, sectionName } from './fields.ts'
import {
  atMostOneOf,
  backendFieldsWithWeight,
  backendList,
  backendRules,
  commonFilters,
  filterFieldRules,
  hostnames,
  matchesMax,
  parentRefs,
  valueMatches,
} from './route-fields.ts'

const isExact = "(!has(self.type) || self.type == 'Exact')"

const serviceName = String.raw`^(?i)\.?[a-z_][a-z_0-9]*(\.[a-z_][a-z_0-9]*)*$`

const method = s.object(
  {
    type: s.string({ enum: ['Exact', 'RegularExpression'], default: 'Exact' }),
    service: s.optional(s.string({ maxLength: 1_024 })),
    method: s.optional(s.string({ maxLength: 1_024 })),
  },
  {
    validations: [
      {
        rule: '!has(self.type) || has(self.service) || has(self.method)',
        message: 'a method match needs a service or a method',
      },
      {
        rule: `!(${isExact} && has(self.service)) || self.service.matches(r"""${serviceName}""")`,
        message: 'the service must be the full name of a gRPC service',
      },
      {
        rule: `!(${isExact} && has(self.method)) || self.method.matches(r"""^[A-Za-z_][A-Za-z_0-9]*$""")`,
        message: 'the method must be the name of a gRPC method',
      },
    ],
  },
)

const filterTypes = [
  'ResponseHeaderModifier',
  'RequestHeaderModifier',
  'RequestMirror',
  'ExtensionRef',
] as const

const filters = s.optional(
  s.array(
    s.object(
      { type: s.string({ enum: filterTypes }), ...commonFilters },
      { validations: filterFieldRules(filterTypes) },
    ),
    {
      maxItems: 16,
      listType: 'atomic',
      validations: atMostOneOf(['RequestHeaderModifier', 'ResponseHeaderModifier']),
    },
  ),
)

const backendRefs = s.optional(
  s.array(s.object({ ...backendFieldsWithWeight, filters }, backendRules), backendList),
)

const rule = s.object({
  name: s.optional(sectionName),
  matches: s.optional(
    s.array(s.object({ method: s.optional(method), headers: valueMatches(4_096) }), {
      maxItems: 64,
      listType: 'atomic',
    }),
  ),
  filters,
  backendRefs,
})

export const grpcRoutes = defineCustomResource({
  group: gatewayGroup,
  names: { kind: 'GRPCRoute', plural: 'grpcroutes', categories: [...categories] },
  scope: 'Namespaced',
  annotations,
  versions: {
    v1: {
      subresources: { status: {} },
      additionalPrinterColumns: [
        { name: 'Hostnames', type: 'string', jsonPath: '.spec.hostnames' },
        ageColumn,
      ],
      schema: s.object(
        {
          spec: s.object({
            parentRefs,
            hostnames,
            rules: s.optional(
              s.array(rule, {
                maxItems: 16,
                listType: 'atomic',
                validations: [matchesMax(each => `(has(${each}.matches) ? ${each}.matches.size() : 0)`)],
              }),
            ),
          }),
          status: routeStatus,
        },
        { description: 'Routes gRPC requests from Gateways to backends.' },
      ),
    },
  },
})

export type GRPCRoute = InferDefaulted<typeof grpcRoutes>
