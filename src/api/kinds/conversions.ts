/** The conversion functions of all groups. */
import type { Conversions } from '../conversion.ts'
import { conversions as autoscaling } from './autoscaling/conversion.ts'
import { conversions as events } from './events/conversion.ts'

export const conversions: Conversions = { ...autoscaling, ...events }
