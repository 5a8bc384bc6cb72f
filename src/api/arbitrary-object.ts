/** Random objects that match the types of a schema and nothing else, for testing validation rules. */
import type { SeededRandom } from '#/base/seeded-random.ts'
import type { Schema, StructSchema } from './schema.ts'

/** Depth below which only scalar fields are generated. */
const depthMax = 7

export interface ArbitraryOptions {
  readonly random: SeededRandom
  /** Additional strings that are meaningful to the code under test. */
  readonly words?: readonly string[]
}

export function arbitraryObject(schema: Schema, { random, words = [] }: ArbitraryOptions): unknown {
  return new Drawing(random, [...texts, ...words]).value(schema, 0)
}

class Drawing {
  readonly #random: SeededRandom
  readonly #texts: readonly string[]

  constructor(random: SeededRandom, words: readonly string[]) {
    this.#random = random
    this.#texts = words
  }

  value(schema: Schema, depth: number): unknown {
    const draw = <T>(values: readonly T[]): T => values[this.#random.integer(values.length)] as T
    const several = (make: () => unknown): unknown[] => Array.from({ length: this.#random.integer(4) }, make)
    switch (schema.type) {
      case 'struct': {
        const fields = [...schema.fields].filter(([, { schema: each }]) => depth < depthMax || isScalar(each))
        const given = fields.filter(([name]) => isRequired(schema, name) || this.#random.integer(3) > 0)
        const entries = given.map(([name, field]) => [name, this.value(field.schema, depth + 1)])
        return Object.fromEntries(entries)
      }
      case 'list':
        return several(() => this.value(schema.items, depth + 1))
      case 'map':
        return Object.fromEntries(
          several(() => {
            return [draw(this.#texts), this.value(schema.values, depth + 1)]
          }) as [],
        )
      case 'string':
        return schema.format === 'byte'
          ? Buffer.from(draw(this.#texts)).toString('base64')
          : draw(this.#texts)
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

/** A kind always has metadata, even in a list within another kind. */
function isRequired({ fields }: StructSchema, name: string): boolean {
  return name === 'metadata' && fields.has('apiVersion') && fields.has('kind')
}
