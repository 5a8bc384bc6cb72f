/** Resource quantities: `quantity("1.5Gi")`. */
import {
  addQuantities,
  compareQuantities,
  parseQuantity,
  quantityFromInteger,
  quantitySign,
  quantityToNumber,
  quantityValue,
  QuantityError,
  subtractQuantities,
  tryParseQuantity,
  type Quantity,
} from '#/api/text/quantity.ts'
import { int64Max } from '#/api/text/int64.ts'
import { Fault } from './fault.ts'
import { globalFunction, method, type Library } from './function.ts'
import { boolType, doubleType, intType, opaque, stringType } from './type.ts'
import { OpaqueValue } from './value.ts'
import { byStringTraversal } from './library/costs.ts'

export class QuantityValue extends OpaqueValue {
  override readonly typeName = 'kubernetes.Quantity'
  readonly quantity: Quantity

  constructor(quantity: Quantity) {
    super()
    this.quantity = quantity
  }

  override equals(other: OpaqueValue): boolean {
    return other instanceof QuantityValue && compareQuantities(this.quantity, other.quantity) === 0
  }
}

export const quantityType = opaque<QuantityValue>('kubernetes.Quantity')

const pair = [quantityType, quantityType] as const
const withInteger = [quantityType, intType] as const

export const quantityLibrary: Library = {
  overloads: [
    globalFunction('quantity', [stringType], quantityType, toQuantity, byStringTraversal),
    globalFunction(
      'isQuantity',
      [stringType],
      boolType,
      text => tryParseQuantity(text) !== undefined,
      byStringTraversal,
    ),
    // Kubernetes implements the function; its documentation has the method.
    globalFunction('sign', [quantityType], intType, signOf),
    method('sign', [quantityType], intType, signOf),
    method('isInteger', [quantityType], boolType, ({ quantity }) => integerOf(quantity) !== undefined),
    method('asInteger', [quantityType], intType, ({ quantity }) => {
      const integer = integerOf(quantity)
      if (integer === undefined) throw new Fault('cannot convert value to integer')
      return integer
    }),
    method('asApproximateFloat', [quantityType], doubleType, ({ quantity }) => quantityToNumber(quantity)),
    method('add', pair, quantityType, (a, b) => new QuantityValue(addQuantities(a.quantity, b.quantity))),
    method(
      'add',
      withInteger,
      quantityType,
      (a, b) => new QuantityValue(addQuantities(a.quantity, whole(b))),
    ),
    method(
      'sub',
      pair,
      quantityType,
      (a, b) => new QuantityValue(subtractQuantities(a.quantity, b.quantity)),
    ),
    method('sub', withInteger, quantityType, (a, b) => {
      return new QuantityValue(subtractQuantities(a.quantity, whole(b)))
    }),
    method('isGreaterThan', pair, boolType, (a, b) => compareQuantities(a.quantity, b.quantity) > 0),
    method('isLessThan', pair, boolType, (a, b) => compareQuantities(a.quantity, b.quantity) < 0),
    method('compareTo', pair, intType, (a, b) => BigInt(compareQuantities(a.quantity, b.quantity))),
  ],
}

function toQuantity(text: string): QuantityValue {
  try {
    return new QuantityValue(parseQuantity(text))
  } catch (error) {
    if (error instanceof QuantityError) throw new Fault(error.message)
    throw error
  }
}

function signOf({ quantity }: QuantityValue): bigint {
  return BigInt(quantitySign(quantity))
}

function whole(value: bigint): Quantity {
  return quantityFromInteger(value, 'DecimalExponent')
}

/** Undefined if it is not an integer of 64 bits. */
function integerOf(quantity: Quantity): bigint | undefined {
  const value = quantityValue(quantity)
  const isWhole = compareQuantities(quantityFromInteger(value, quantity.format), quantity) === 0
  return isWhole && value <= int64Max && value >= -int64Max - 1n ? value : undefined
}
