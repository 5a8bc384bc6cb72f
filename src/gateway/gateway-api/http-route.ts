import type { ValidationRule } from '#/api/generated/apiextensions/v1.ts'
import { defineCustomResource, type InferDefaulted } from '#/custom-resource/custom-resource.ts'
import * as s from '#/custom-resource/schema.ts'
import {
  ageColumn,
  annotations,
  categories,
  gatewayGroup,
  portNumber,
  preciseHostname,
  routeStatus,
  sectionName,
} from './fields.ts'
import {
  atMostOneOf,
  backendFieldsWithWeight,
  backendList,
  backendRules,
  commonFilters,
  filterFieldRules,
  headerName,
  hostnames,
  matchesMax,
  parentRefs,
  valueMatches,
} from './route-fields.ts'

const isLiteralPath = "self.type in ['Exact', 'PathPrefix']"

const pathCharacter = "[-A-Za-z0-9/._~!$&'()*+,;=:@]"

/** Paths that requests cannot have after normalization would never match. */
const pathRules: readonly ValidationRule[] = [
  {
    rule: `!(${isLiteralPath}) || self.value.startsWith('/')`,
    message: 'paths of type Exact and PathPrefix must begin with /',
  },
  ...['//', '/./', '/../', '%2f', '%2F', '#'].map(part => ({
    rule: `!(${isLiteralPath}) || !self.value.contains('${part}')`,
    message: `paths of type Exact and PathPrefix cannot contain ${part}`,
  })),
  ...['/..', '/.'].map(end => ({
    rule: `!(${isLiteralPath}) || !self.value.endsWith('${end}')`,
    message: `paths of type Exact and PathPrefix cannot end with ${end}`,
  })),
  {
    rule: "self.type in ['Exact', 'PathPrefix', 'RegularExpression']",
    message: 'the type must be Exact, PathPrefix or RegularExpression',
  },
  {
    rule: `!(${isLiteralPath}) || self.value.matches(r"""^(?:${pathCharacter}|[%][0-9a-fA-F]{2})+$""")`,
    message: 'paths of type Exact and PathPrefix can only contain the characters of a path (RFC 3986)',
  },
]

const everything = [{ path: { type: 'PathPrefix', value: '/' } }] as const

const match = s.object({
  path: s.object(
    {
      type: s.string({ enum: ['Exact', 'PathPrefix', 'RegularExpression'], default: 'PathPrefix' }),
      value: s.string({ maxLength: 1_024, default: '/' }),
    },
    { default: { type: 'PathPrefix', value: '/' }, validations: pathRules },
  ),
  headers: valueMatches(4_096),
  queryParams: valueMatches(1_024),
  method: s.optional(
    s.string({ enum: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'] }),
  ),
})

const pathModifier = s.optional(
  s.object(
    {
      type: s.string({ enum: ['ReplaceFullPath', 'ReplacePrefixMatch'] }),
      replaceFullPath: s.optional(s.string({ maxLength: 1_024 })),
      replacePrefixMatch: s.optional(s.string({ maxLength: 1_024 })),
    },
    {
      validations: ['ReplaceFullPath', 'ReplacePrefixMatch'].map(type => {
        const field = `r${type.slice(1)}`
        return {
          rule: `has(self.${field}) == (self.type == '${type}')`,
          message: `${field} must be set for type ${type}, and only for it`,
        }
      }),
    },
  ),
)

const redirect = s.object({
  scheme: s.optional(s.string({ enum: ['http', 'https'] })),
  hostname: s.optional(preciseHostname),
  path: pathModifier,
  port: s.optional(portNumber),
  statusCode: s.integer({ enum: [301, 302, 303, 307, 308], default: 302 }),
})

const wildcardAlone = (field: string) => ({
  rule: "!('*' in self && self.size() > 1)",
  message: `${field} with * cannot have further items`,
})

const set = { maxItems: 64, listType: 'set' } as const

const cors = s.object({
  allowOrigins: s.optional(
    s.array(
      s.string({
        minLength: 1,
        maxLength: 253,
        pattern:
          '(^\\*$)|(^(http(s)?):\\/\\/(((\\*\\.)?([a-zA-Z0-9\\-]+\\.)*[a-zA-Z0-9-]+|\\*)(:([0-9]{1,5}))?)$)',
      }),
      { ...set, validations: [wildcardAlone('allowOrigins')] },
    ),
  ),
  allowCredentials: s.optional(s.boolean()),
  allowMethods: s.optional(
    s.array(
      s.string({
        enum: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', '*'],
      }),
      { ...set, maxItems: 9, validations: [wildcardAlone('allowMethods')] },
    ),
  ),
  allowHeaders: s.optional(s.array(headerName, { ...set, validations: [wildcardAlone('allowHeaders')] })),
  exposeHeaders: s.optional(s.array(headerName, set)),
  maxAge: s.integer({ minimum: 1, default: 5 }),
})

const filterTypes = [
  'RequestHeaderModifier',
  'ResponseHeaderModifier',
  'RequestMirror',
  'RequestRedirect',
  'URLRewrite',
  'ExtensionRef',
  'CORS',
] as const

const filter = s.object(
  {
    type: s.string({ enum: filterTypes }),
    ...commonFilters,
    requestRedirect: s.optional(redirect),
    urlRewrite: s.optional(s.object({ hostname: s.optional(preciseHostname), path: pathModifier })),
    cors: s.optional(cors),
  },
  { validations: filterFieldRules(filterTypes) },
)

const filters = s.optional(
  s.array(filter, {
    maxItems: 16,
    listType: 'atomic',
    validations: [
      {
        rule: "!(self.exists(f, f.type == 'RequestRedirect') && self.exists(f, f.type == 'URLRewrite'))",
        message: 'RequestRedirect and URLRewrite cannot be used together',
      },
      ...atMostOneOf(filterTypes.filter(type => type !== 'RequestMirror' && type !== 'ExtensionRef')),
    ],
  }),
)

const onePrefixMatch =
  "size(self.matches) == 1 && has(self.matches[0].path) && self.matches[0].path.type == 'PathPrefix'"

/** The replaced prefix is that of the match. */
function replacesPrefixOfOneMatch(field: string): readonly ValidationRule[] {
  const replaces =
    `f, has(f.${field}) && has(f.${field}.path) && f.${field}.path.type == 'ReplacePrefixMatch'` +
    ` && has(f.${field}.path.replacePrefixMatch)`
  return [
    {
      rule: `!has(self.filters) || !self.filters.exists_one(${replaces}) || (${onePrefixMatch})`,
      message: `a ${field} with replacePrefixMatch needs exactly one match, of type PathPrefix`,
    },
    {
      rule:
        `!has(self.backendRefs) || !self.backendRefs.exists_one(b, has(b.filters) && ` +
        `b.filters.exists_one(${replaces})) || (${onePrefixMatch})`,
      message: `a ${field} of a backend with replacePrefixMatch needs exactly one match, of type PathPrefix`,
    },
  ]
}

const duration = s.optional(s.string({ pattern: '^([0-9]{1,5}(h|m|s|ms)){1,4}$' }))

const backendRefs = s.optional(
  s.array(s.object({ ...backendFieldsWithWeight, filters }, backendRules), backendList),
)

const rule = s.object(
  {
    name: s.optional(sectionName),
    matches: s.array(match, { maxItems: 64, listType: 'atomic', default: everything }),
    filters,
    backendRefs,
    timeouts: s.optional(
      s.object(
        { request: duration, backendRequest: duration },
        {
          validations: [
            {
              rule:
                '!has(self.request) || !has(self.backendRequest) || ' +
                "duration(self.request) == duration('0s')" +
                ' || duration(self.backendRequest) <= duration(self.request)',
              message: 'the timeout backendRequest cannot be longer than the timeout request',
            },
          ],
        },
      ),
    ),
  },
  {
    validations: [
      {
        rule:
          '!has(self.backendRefs) || size(self.backendRefs) == 0 || !has(self.filters)' +
          ' || self.filters.all(f, !has(f.requestRedirect))',
        message: 'a rule with a RequestRedirect cannot have backendRefs',
      },
      ...replacesPrefixOfOneMatch('requestRedirect'),
      ...replacesPrefixOfOneMatch('urlRewrite'),
    ],
  },
)

const version = {
  subresources: { status: {} },
  additionalPrinterColumns: [{ name: 'Hostnames', type: 'string', jsonPath: '.spec.hostnames' }, ageColumn],
  schema: s.object(
    {
      spec: s.object({
        parentRefs,
        hostnames,
        rules: s.array(rule, {
          minItems: 1,
          maxItems: 16,
          listType: 'atomic',
          default: [{ matches: everything }],
          validations: [matchesMax(each => `${each}.matches.size()`)],
        }),
      }),
      status: routeStatus,
    },
    { description: 'Routes HTTP requests from Gateways to backends.' },
  ),
} as const

export const httpRoutes = defineCustomResource({
  group: gatewayGroup,
  names: { kind: 'HTTPRoute', plural: 'httproutes', categories: [...categories] },
  scope: 'Namespaced',
  annotations,
  versions: { v1: { ...version, storage: true }, v1beta1: { ...version } },
})

export type HTTPRoute = InferDefaulted<typeof httpRoutes>
