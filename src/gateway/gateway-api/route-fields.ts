/** Fields that HTTPRoutes and GRPCRoutes have in common. */
import type { ValidationRule } from '#/api/generated/apiextensions/v1.ts'
import * as s from '#/custom-resource/schema.ts'
import {
  groupName,
  groupOptions,
  hostname,
  kindName,
  kindOptions,
  namespaceName,
  objectName,
  parentReference,
  portNumber,
} from './fields.ts'

/** `__namespace__` is how CEL spells the reserved word. */
const sameNamespace = [
  "((!has(a.__namespace__) || a.__namespace__ == '') && (!has(b.__namespace__) || b.__namespace__ == '')",
  '|| has(a.__namespace__) && has(b.__namespace__) && a.__namespace__ == b.__namespace__)',
].join(' ')

const sameParent = `a.group == b.group && a.kind == b.kind && a.name == b.name && ${sameNamespace}`

const noSection = (name: string) => `(!has(${name}.sectionName) || ${name}.sectionName == '')`

const sameSection = [
  `(${noSection('a')} && ${noSection('b')}`,
  '|| has(a.sectionName) && has(b.sectionName) && a.sectionName == b.sectionName)',
].join(' ')

export const parentRefs = s.optional(
  s.array(parentReference, {
    maxItems: 32,
    listType: 'atomic',
    validations: [
      {
        rule: `self.all(a, self.all(b, !(${sameParent}) || ${noSection('a')} == ${noSection('b')}))`,
        message: 'several references to one parent must all have a sectionName',
      },
      {
        rule: `self.all(a, self.exists_one(b, ${sameParent} && ${sameSection}))`,
        message: 'several references to one parent must have different sectionNames',
      },
    ],
  }),
)

export const hostnames = s.optional(s.array(hostname, { maxItems: 16, listType: 'atomic' }))

/** Bounds the matches of all rules together, of up to 16 rules. */
export function matchesMax(count: (rule: string) => string): ValidationRule {
  const terms = Array.from({ length: 16 }, (_, i) => `(self.size() > ${i} ? ${count(`self[${i}]`)} : 0)`)
  return {
    rule: `${terms.join(' + ')} <= 128`,
    message: 'all rules of a route together can have up to 128 matches',
  }
}

const headerNameOptions = {
  minLength: 1,
  maxLength: 256,
  pattern: "^[A-Za-z0-9!#$%&'*+\\-.^_\\x60|~]+$",
} as const

export const headerName = s.string(headerNameOptions)

const header = s.object({ name: headerName, value: s.string({ minLength: 1, maxLength: 4_096 }) })

const byName = { maxItems: 16, listType: 'map', listMapKeys: ['name'] } as const

const headerFilter = s.object({
  set: s.optional(s.array(header, byName)),
  add: s.optional(s.array(header, byName)),
  remove: s.optional(s.array(s.string(), { maxItems: 16, listType: 'set' })),
})

/** Matches a header or a query parameter. */
export function valueMatches(valueLengthMax: number) {
  return s.optional(
    s.array(
      s.object({
        type: s.string({ enum: ['Exact', 'RegularExpression'], default: 'Exact' }),
        name: headerName,
        value: s.string({ minLength: 1, maxLength: valueLengthMax }),
      }),
      byName,
    ),
  )
}

const backendFields = {
  group: s.string({ ...groupOptions, default: '' }),
  kind: s.string({ ...kindOptions, default: 'Service' }),
  name: objectName,
  namespace: s.optional(namespaceName),
  port: s.optional(portNumber),
} as const

const serviceHasPort = {
  rule: "size(self.group) != 0 || self.kind != 'Service' || has(self.port)",
  message: 'a reference to a Service must have a port',
} as const

const mirrorFilter = s.object(
  {
    backendRef: s.object(backendFields, { validations: [serviceHasPort] }),
    percent: s.optional(s.integer({ minimum: 0, maximum: 100 })),
    fraction: s.optional(
      s.object(
        { numerator: s.integer({ minimum: 0 }), denominator: s.integer({ minimum: 1, default: 100 }) },
        {
          validations: [
            {
              rule: 'self.numerator <= self.denominator',
              message: 'the numerator cannot be greater than the denominator',
            },
          ],
        },
      ),
    ),
  },
  {
    validations: [
      {
        rule: '!(has(self.percent) && has(self.fraction))',
        message: 'a mirror can have a percent or a fraction, not both',
      },
    ],
  },
)

/** The filters that both kinds of routes have. */
export const commonFilters = {
  requestHeaderModifier: s.optional(headerFilter),
  responseHeaderModifier: s.optional(headerFilter),
  requestMirror: s.optional(mirrorFilter),
  extensionRef: s.optional(s.object({ group: groupName, kind: kindName, name: objectName })),
} as const

/** Each type of filter has a field of its name, which is set if and only if the filter has the type. */
export function filterFieldRules(types: readonly string[]): readonly ValidationRule[] {
  return types.map(type => {
    const field = fieldOfFilter(type)
    return {
      rule: `has(self.${field}) == (self.type == '${type}')`,
      message: `${field} must be set for filters of type ${type}, and only for them`,
    }
  })
}

function fieldOfFilter(type: string): string {
  return type === 'CORS'
    ? 'cors'
    : type === 'URLRewrite'
      ? 'urlRewrite'
      : type[0]?.toLowerCase() + type.slice(1)
}

export function atMostOneOf(types: readonly string[]): readonly ValidationRule[] {
  return types.map(type => ({
    rule: `self.filter(f, f.type == '${type}').size() <= 1`,
    message: `a rule can have one filter of type ${type}`,
  }))
}

/** A backend of a rule; each kind of route adds its filters. */
export const backendFieldsWithWeight = {
  ...backendFields,
  weight: s.integer({ minimum: 0, maximum: 1_000_000, default: 1 }),
} as const

export const backendRules = { validations: [serviceHasPort] } as const

export const backendList = { maxItems: 16, listType: 'atomic' } as const
