import type { DeviceAttribute } from '#/api/generated/resource/v1.ts'
import { parseQuantity } from '#/api/text/quantity.ts'
import { parseSemanticVersion } from '#/api/text/semantic-version.ts'
import { InvalidExpression } from '#/cel/compile-expression.ts'
import { Budget, expressionCostMax } from '#/cel/cost.ts'
import { compileDeviceSelector, deviceType } from '#/cel/device-environment.ts'
import { QuantityValue } from '#/cel/quantity.ts'
import { SemanticVersionValue } from '#/cel/semantic-version.ts'
import { map, MapValue, object, type Key, type Value } from '#/cel/value.ts'
import type { DeviceSelectors, SelectableDevice } from './device-selectors.ts'

/** Device selectors in CEL, with the variable `device`. */
export const deviceExpressions: DeviceSelectors = {
  compile: expression => {
    const program = compileDeviceSelector(expression)
    if (program instanceof InvalidExpression) throw new Error(program.message)
    return device => program.evaluate({ device: deviceValue(device) }, new Budget(expressionCostMax)) === true
  },
}

function deviceValue({
  driver,
  attributes = {},
  capacity = {},
  allowMultipleAllocations,
}: SelectableDevice): Value {
  const values = Object.entries(attributes).map(
    ([name, attribute]) => [name, attributeValue(attribute)] as const,
  )
  const amounts = Object.entries(capacity).map(([name, { value }]) => {
    return [name, new QuantityValue(parseQuantity(value))] as const
  })
  return object(
    deviceType,
    new Map<string, Value>([
      ['driver', driver],
      ['attributes', byDomain(driver, values)],
      ['capacity', byDomain(driver, amounts)],
      ['allowMultipleAllocations', allowMultipleAllocations ?? false],
    ]),
  )
}

function attributeValue({ int, bool, version, string }: DeviceAttribute): Value {
  if (int !== undefined) return BigInt(int)
  if (bool !== undefined) return bool
  return version === undefined ? (string ?? '') : new SemanticVersionValue(parseSemanticVersion(version))
}

/** Groups entries by domain; a name without a domain belongs to that of the driver. */
function byDomain(driver: string, entries: readonly (readonly [string, Value])[]): MapValue {
  const domains = Map.groupBy(entries, ([name]) =>
    name.includes('/') ? name.slice(0, name.indexOf('/')) : driver,
  )
  return new Domains(
    new Map(
      [...domains].map(([domain, inside]) => {
        return [
          domain,
          map(inside.map(([name, value]) => [name.slice(name.indexOf('/') + 1), value] as const)),
        ] as const
      }),
    ),
  )
}

const nothing = map([])

/** An unknown domain is an empty map, not an error; looking up a name in it is the error. */
class Domains extends MapValue {
  readonly #domains: ReadonlyMap<string, MapValue>

  constructor(domains: ReadonlyMap<string, MapValue>) {
    super()
    this.#domains = domains
  }

  override get size(): number {
    return this.#domains.size
  }

  override get(key: Value): Value | undefined {
    return typeof key === 'string' ? (this.#domains.get(key) ?? nothing) : undefined
  }

  override keys(): Iterable<Key> {
    return this.#domains.keys()
  }
}
