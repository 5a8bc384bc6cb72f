/** Objects of a kind with nothing right about them but the types: what is left for rules to judge. */
import type { SeededRandom } from '#/base/seeded-random.ts'
import type { Schema } from '../../schema.ts'

/** Levels below which fields are left out. */
const depthMax = 7

export function arbitraryObject(schema: Schema, random: SeededRandom, depth = 0): unknown {
  const draw = <T>(values: readonly T[]): T => values[random.integer(values.length)] as T
  const several = (make: () => unknown): unknown[] => Array.from({ length: random.integer(4) }, make)
  switch (schema.type) {
    case 'struct': {
      const fields = [...schema.fields].filter(([, { schema: each }]) => depth < depthMax || isScalar(each))
      const given = fields.filter(() => random.integer(3) > 0)
      const entries = given.map(([name, field]) => [name, arbitraryObject(field.schema, random, depth + 1)])
      return Object.fromEntries(entries)
    }
    case 'list':
      return several(() => arbitraryObject(schema.items, random, depth + 1))
    case 'map':
      return Object.fromEntries(
        several(() => {
          return [draw(texts), arbitraryObject(schema.values, random, depth + 1)]
        }) as [],
      )
    case 'string':
      return schema.format === 'byte' ? Buffer.from(draw(texts)).toString('base64') : draw(texts)
    case 'quantity':
      return draw(['0', '-1', '1', '1500m', '1n', '1Gi', '9E'])
    case 'boolean':
      return draw([true, false])
    case 'int-or-string':
      return draw<number | string>([0, 80, -1, 'http', ''])
    case 'integer':
    case 'number':
      return draw([0, 1, -1, 80, 70_000, 2 ** 31 - 1])
    case 'any':
      return draw([null, {}, [], 'a'])
  }
}

const texts = [
  '',
  'a',
  'A b',
  'web',
  'example.com/a',
  '__proto__',
  'constructor',
  '10.0.0.1',
  '010.0.0.1',
  '10.0.0.0/8',
  'fd00::1',
  'None',
  'Local',
  'ClusterIP',
  'NodePort',
  'LoadBalancer',
  'ExternalName',
  'ClientIP',
  'Container',
  'Pod',
  'In',
  'Exists',
  'cpu',
  'storage',
  'pods',
  'Prefix',
  'IPv4',
  'IPv6',
  'TCP',
  'ReadWriteOnce',
  'Bound',
  'kubernetes.io/tls',
  'kubernetes.io/dockercfg',
  '.dockercfg',
  '../..',
  '/',
  `x${'.x'.repeat(200)}`,
  'é',
  '\0',
]

function isScalar({ type }: Schema): boolean {
  return type !== 'struct' && type !== 'list' && type !== 'map'
}
