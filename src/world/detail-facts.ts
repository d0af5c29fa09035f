/** Facts with a side remark: the main value is easily kept, the remark easily lost. */
import type { FactSpec } from './spec.ts';
import type { Slot } from './values.ts';

interface DetailRow {
  readonly slots: { readonly v: Slot; readonly w: Slot };
  readonly topic: string;
  readonly told: readonly string[];
  readonly heldOut: readonly string[];
  /** Main part and remark of the ideal memory. */
  readonly main: string;
  readonly remark: string;
  readonly question: string;
}

const ROWS: Readonly<Record<string, DetailRow>> = {
  doctor: {
    slots: { v: 'name', w: 'number' },
    topic: 'doctor',
    told: [
      'my doctor is {v}, in room {w}',
      'I see doctor {v}, room {w}',
      'doctor {v} is good, by the way she sits in {w}',
      'my new doctor {v} has room {w}',
    ],
    heldOut: ['knock at room {w}, doctor {v} will see me'],
    main: "user's doctor is {v}",
    remark: 'in room {w}',
    question: 'Who is the doctor and in which room?',
  },
  bakery: {
    slots: { v: 'name', w: 'time' },
    topic: 'bakery',
    told: [
      'my bakery is {v}, it opens at {w}',
      'I buy at bakery {v}, open from {w}',
      'bakery {v} is great, open from {w} by the way',
      'the bakery {v} opens at {w}',
    ],
    heldOut: ['get there by {w}, says bakery {v}'],
    main: "user's bakery is {v}",
    remark: 'opens at {w}',
    question: 'Which bakery is it and when does it open?',
  },
  plumber: {
    slots: { v: 'name', w: 'amount' },
    topic: 'plumber',
    told: [
      'my plumber is {v}, he takes {w}',
      'the plumber {v} came, he took {w}',
      'I called plumber {v}, that was {w}',
      'plumber {v} fixed it, and {w} is his price',
    ],
    heldOut: ['{w} went to {v}, my plumber'],
    main: "user's plumber is {v}",
    remark: 'takes {w}',
    question: 'Who is the plumber and what is the price?',
  },
  neighbor: {
    slots: { v: 'name', w: { list: 'hobby' } },
    topic: 'neighbor',
    told: [
      'my neighbor {v} does {w}',
      'our neighbor is {v}, she loves {w}',
      '{v} is my neighbor, by the way into {w}',
      'I met the neighbor {v}, fond of {w}',
    ],
    heldOut: ['next door lives {v}, a neighbor mad about {w}'],
    main: "user's neighbor is {v}",
    remark: 'does {w}',
    question: 'Who is the neighbor and what about the neighbor?',
  },
  tutor: {
    slots: { v: 'name', w: { list: 'subject' } },
    topic: 'tutor',
    told: [
      'my tutor is {v}, he teaches {w}',
      'I have a tutor {v} for {w}',
      'tutor {v} is strict, we do {w}',
      '{v} is my tutor, mostly for {w}',
    ],
    heldOut: ['{w} is hard but tutor {v} helps'],
    main: "user's tutor is {v}",
    remark: 'for {w}',
    question: 'Who is the tutor and for what?',
  },
  landlord: {
    slots: { v: 'name', w: 'number' },
    topic: 'landlord',
    told: [
      'my landlord is {v}, flat {w}',
      'landlord {v} lives in flat {w}',
      'the landlord is {v}, by the way in flat {w}',
      'I rent from landlord {v} of flat {w}',
    ],
    heldOut: ['ring at flat {w}, that is landlord {v}'],
    main: "user's landlord is {v}",
    remark: 'in flat {w}',
    question: 'Who is the landlord and in which flat?',
  },
  bike: {
    slots: { v: 'name', w: { list: 'color' } },
    topic: 'bike',
    told: [
      'my bike is a {v}, it is {w}',
      'I ride a {w} bike, a {v}',
      'I bought a {v} bike, the {w} one',
      'my bike is from {v}, painted {w}',
    ],
    heldOut: ['the {w} bike over there, a {v}, is mine'],
    main: "user's bike is a {v}",
    remark: 'painted {w}',
    question: 'Which bike is it and how is it painted?',
  },
  choir: {
    slots: { v: 'name', w: 'time' },
    topic: 'choir',
    told: [
      'I sing in choir {v}, we meet at {w}',
      'my choir is {v}, always at {w}',
      'the choir {v} meets at {w}',
      'choir {v} took me, by the way it meets at {w}',
    ],
    heldOut: ['at {w} I must be at {v}, my choir'],
    main: "user's choir is {v}",
    remark: 'meets at {w}',
    question: 'Which choir is it and when does it meet?',
  },
  laptop: {
    slots: { v: 'name', w: 'amount' },
    topic: 'laptop',
    told: [
      'my laptop is a {v}, it was {w}',
      'I bought a {v} laptop for {w}',
      'the new laptop {v} cost {w}',
      'laptop {v} is fast, and it was {w}',
    ],
    heldOut: ['{w} gone, but my laptop {v} is here'],
    main: "user's laptop is a {v}",
    remark: 'for {w}',
    question: 'Which laptop is it and for how much?',
  },
};

function detail([id, row]: readonly [string, DetailRow]): FactSpec {
  return {
    id,
    family: 'detail',
    category: 'secondary-detail',
    slots: row.slots,
    told: row.told,
    heldOut: row.heldOut,
    ideal: `${row.main}, ${row.remark}`,
    withoutSecondary: row.main,
    blurred: `user has a ${row.topic}`,
    described: `user told about the ${row.topic}`,
    question: row.question,
    criteria: [
      { id: 'main', text: `says that ${row.main}`, weight: 2, all: ['{v}'] },
      { id: 'detail', text: `adds: ${row.remark}`, weight: 1, all: ['{w}'] },
    ],
    noun: `the ${row.topic}`,
  };
}

export const detailFacts: readonly FactSpec[] = Object.entries(ROWS).map(detail);
